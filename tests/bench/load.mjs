// The API under load: POST to the first event while nothing and while 10,000 jobs wait, and the delay of an event for 1,000
// watchers of one job. Client and server share this machine, so the client's time is included.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../support/server.mjs';

const queued = 10_000;
const watchers = 1_000;
const samples = 300;

// A job that prints five lines a second, and one that prints nothing.
const prints = (seconds) => `import time\nfor line in range(${seconds * 5}):\n    print(line, flush=True)\n    time.sleep(0.2)\n`;
const waits = 'import time\ntime.sleep(3600)\n';

const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });

function call(method, url, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const request = http.request(url, { method, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part) => (text += part));
      answer.on('end', () => {
        if (answer.statusCode >= 300) reject(new Error(`${method} ${url}: ${answer.statusCode} ${text}`));
        else resolve(text === '' ? undefined : JSON.parse(text));
      });
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const submit = async (url, code) => (await call('POST', `${url}/api/v1/jobs`, { code, variants: ['eager'] })).id;

// Calls `event` with each event of a job. Returns once the server answers, with a function that ends the stream.
function follow(url, id, event) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/api/v1/jobs/${id}/events`, { agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part) => {
        text += part;
        const lines = text.split('\n');
        text = lines.pop();
        for (const line of lines) if (line.startsWith('data:')) event(JSON.parse(line.slice(5)));
      });
      // The end of the stream is an error of the request once it was destroyed.
      answer.on('error', () => {});
      resolve(() => request.destroy());
    });
    request.on('error', reject);
  });
}

async function firstEvent(url) {
  const start = performance.now();
  const id = await submit(url, waits);
  let stop;
  await new Promise((resolve, reject) => {
    follow(url, id, resolve).then((end) => (stop = end), reject);
  });
  const elapsed = performance.now() - start;
  stop();
  await call('DELETE', `${url}/api/v1/jobs/${id}`);
  return elapsed;
}

async function firstEvents(url) {
  const times = [];
  for (let i = 0; i < samples; i++) times.push(await firstEvent(url));
  return times;
}

function percentile(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

async function running(url, code) {
  const id = await submit(url, code);
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(100)) {
    if ((await call('GET', `${url}/api/v1/jobs/${id}`)).state === 'running') return id;
  }
  throw new Error('no job ran within two minutes');
}

async function delays(url) {
  const id = await running(url, prints(120));
  const times = [];
  const ends = [];
  let counted = false;
  const event = ({ type, at }) => {
    if (counted && type === 'log') times.push(Date.now() - Date.parse(at));
  };
  for (let i = 0; i < watchers; i += 50) {
    ends.push(...(await Promise.all(Array.from({ length: 50 }, () => follow(url, id, event)))));
  }
  // Each stream first gets the events so far.
  await sleep(2000);
  counted = true;
  await sleep(10_000);
  counted = false;
  for (const end of ends) end();
  await call('DELETE', `${url}/api/v1/jobs/${id}`);
  return times;
}

export default async function () {
  const limit = String(queued + 100);
  const server = await startServer(['--queue-limit', limit, '--token-queue-limit', limit, '--wall-limit', '3600']);
  try {
    const watched = await delays(server.url);
    const blocker = await running(server.url, waits);
    const idle = await firstEvents(server.url);
    for (let i = 0; i < queued; i += 16) {
      await Promise.all(Array.from({ length: Math.min(16, queued - i) }, () => submit(server.url, waits)));
    }
    const busy = await firstEvents(server.url);
    await call('DELETE', `${server.url}/api/v1/jobs/${blocker}`);
    const row = (what, times, note) => [
      { what: `${what}, p50`, value: percentile(times, 0.5), unit: 'ms', note },
      { what: `${what}, p99`, value: percentile(times, 0.99), unit: 'ms', note },
    ];
    return [
      ...row('POST to the first event, no job waits', idle, `${samples} jobs`),
      ...row(`POST to the first event, ${queued.toLocaleString('en')} jobs wait`, busy, `${samples} jobs`),
      ...row(`delay of an event for ${watchers.toLocaleString('en')} watchers`, watched, `${watched.length} events`),
    ];
  } finally {
    agent.destroy();
    await server.stop();
  }
}
