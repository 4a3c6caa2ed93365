// A fleet on one PostgreSQL database: web nodes, hosts that are played by this program through the API, and a long queue.
// HIPWARD_FLEET_HOSTS and HIPWARD_FLEET_JOBS set the numbers of hosts and of queued jobs, HIPWARD_FLEET_RATE the submissions a second
// at which their time is measured. Without such a rate, a client that sends as fast as it can measures how long its own requests wait
// for each other.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../support/server.mjs';

const nodes = 4;
const hosts = Number(process.env.HIPWARD_FLEET_HOSTS ?? 50);
const jobs = Number(process.env.HIPWARD_FLEET_JOBS ?? 5000);
const rate = Number(process.env.HIPWARD_FLEET_RATE ?? 50);
const ratedSeconds = 30;
const submitters = 8;
const handOvers = 200;
// Debian's programs, and the user that runs them for root.
const nobody = 65534;

/** The value that 99 % do not exceed. */
function p99(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}

async function timed(values, call) {
  const start = performance.now();
  const answer = await call();
  values.push(performance.now() - start);
  return answer;
}

function program(name) {
  const base = '/usr/lib/postgresql';
  const newest = readdirSync(base).toSorted((a, b) => a - b).at(-1);
  return join(base, newest, 'bin', name);
}

async function startDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'hipward-postgres-'));
  chmodSync(folder, 0o700);
  const user = process.getuid() === 0 ? { uid: nobody, gid: nobody } : {};
  if (user.uid) chownSync(folder, nobody, nobody);
  const options = { ...user, cwd: folder, stdio: 'ignore' };
  const data = join(folder, 'data');
  execFileSync(program('initdb'), ['--auth=trust', '--username=hipward', '--encoding=UTF8', '--pgdata', data], options);
  const server = spawn(program('postgres'), ['-D', data, '-k', folder, '-c', 'listen_addresses='], options);
  const end = () => server.kill('SIGQUIT');
  process.once('exit', end);
  const sql = ['--username=hipward', '--dbname=postgres', `--host=${folder}`, '--command', 'create database hipward'];
  for (let attempt = 0; ; attempt++) {
    await sleep(200);
    try {
      execFileSync('psql', sql, { stdio: 'ignore' });
      break;
    } catch (error) {
      if (attempt > 100) throw error;
    }
  }
  const stop = async () => {
    process.off('exit', end);
    const ended = new Promise((resolve) => server.once('exit', resolve));
    end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: `postgres:///hipward?user=hipward&host=${folder}`, stop };
}

async function request(url, method, path, body) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
}

const send = async (...args) => (await request(...args)).body;

/** The share of the processors that is used from now on until the returned function is called. */
function busyShare() {
  const sum = () => {
    const times = cpus().map((one) => one.times);
    const all = times.flatMap((time) => Object.values(time)).reduce((total, time) => total + time, 0);
    return { all, idle: times.reduce((total, time) => total + time.idle, 0) };
  };
  const before = sum();
  return () => {
    const after = sum();
    return 1 - (after.idle - before.idle) / (after.all - before.all);
  };
}

/** A device of a host as `hipward worker` sends it. */
function free(name) {
  const memory_bytes = 192 * 2 ** 30;
  const device = { id: `${name}/cuda:0`, name: 'Stand-in', vendor: 'amd', arch: 'gfx942', memory_bytes };
  return { host: name, device, unassigned: true, facts: { torch: '2.9.1', rocm: '7.0', gpus: 1, labels: [] } };
}

async function joinServer(url, name) {
  const base = await (await fetch(`${url}/api/v1/capabilities`)).json();
  const variants = ['eager', 'eager-control'].map((id) => ({ id, label: id, about: id }));
  const { device, facts } = free(name);
  await send(url, 'PUT', `/api/v1/hosts/${name}`, { ...base, ready: true, devices: [device], variants, facts });
}

/** Ends a leased job at once. */
const finish = (url, { job, attempt }) =>
  send(url, 'POST', `/api/v1/leases/${job}/${attempt}/events`, { after: 0, events: [{ type: 'done' }] });

export default async function () {
  const database = await startDatabase();
  const servers = [];
  let reports;
  const sent = new Set();
  try {
    for (let node = 0; node < nodes; node++) {
      servers.push(await startServer(['--no-runner', '--queue-limit', '1000000', '--database', database.url]));
    }
    const url = (number) => servers[number % nodes].url;
    const names = Array.from({ length: hosts }, (_, number) => `gpu${number}`);
    await Promise.all(names.map((name, number) => joinServer(url(number), name)));
    // As `hipward worker` does, because a host is listed for a minute after each report. Hosts do not report at the same time.
    let next = 0;
    reports = setInterval(() => {
      const number = next++ % hosts;
      const report = joinServer(url(number), names[number]);
      sent.add(report);
      report.catch((error) => console.error(error)).finally(() => sent.delete(report));
    }, 15_000 / hosts);

    // All hosts wait, as `hipward worker` does, and one of them gets each job.
    const leases = new Map();
    let stopped = false;
    const waiting = names.map(async (name, number) => {
      while (!stopped) {
        const device = free(name);
        const found = await request(url(number), 'POST', '/api/v1/leases/wait', { ...device, wait_s: 3 });
        if (found.status !== 200) continue;
        const lease = await send(url(number), 'POST', '/api/v1/leases', device);
        if (lease === undefined) continue;
        leases.get(lease.code)?.(performance.now());
        await finish(url(number), lease);
      }
    });
    await sleep(1000);
    const handOver = [];
    for (let number = 0; number < handOvers; number++) {
      const code = `x = ${number}`;
      const leased = new Promise((resolve) => leases.set(code, resolve));
      const start = performance.now();
      await send(url(number), 'POST', '/api/v1/jobs', { code });
      handOver.push((await leased) - start);
      await sleep(100);
    }
    stopped = true;
    await Promise.all(waiting);

    const submit = [];
    const queue = Array.from({ length: submitters }, async (_, submitter) => {
      for (let number = submitter; number < jobs; number += submitters) {
        const request = { code: `x = ${number}`, require: { vendor: 'amd', torch: '2.9' } };
        await timed(submit, () => send(url(number), 'POST', '/api/v1/jobs', request));
      }
    });
    const filling = performance.now();
    await Promise.all(queue);
    const filled = jobs / ((performance.now() - filling) / 1000);

    // At a fixed rate, whatever the times are. Each counts from when it was due.
    const rated = [];
    const busy = busyShare();
    const first = performance.now();
    const due = Array.from({ length: ratedSeconds * rate }, async (_, number) => {
      const at = first + (number / rate) * 1000;
      await sleep(Math.max(0, at - performance.now()));
      await send(url(number), 'POST', '/api/v1/jobs', { code: `y = ${number}`, require: { vendor: 'amd', torch: '2.9' } });
      rated.push(performance.now() - at);
    });
    await Promise.all(due);
    const busyWhileRated = Math.round(100 * busy());

    // All hosts lease and finish jobs of the long queue.
    const claim = [];
    const begin = performance.now();
    const until = begin + 30_000;
    const leased = new Set();
    const run = names.map(async (name, number) => {
      while (performance.now() < until) {
        const lease = await timed(claim, () => send(url(number), 'POST', '/api/v1/leases', free(name)));
        if (lease === undefined) return;
        if (leased.has(lease.job)) throw new Error(`${lease.job} was leased twice`);
        leased.add(lease.job);
        await finish(url(number), lease);
      }
    });
    await Promise.all(run);
    const seconds = (performance.now() - begin) / 1000;
    const note = `${nodes} web nodes, ${hosts} hosts, ${jobs} queued jobs; nodes, database and hosts on this machine`;
    return [
      {
        what: `submission at ${rate}/s, p99`,
        value: p99(rated),
        unit: 'ms',
        note: `to a queue of ${jobs}; the processors are ${busyWhileRated} % busy`,
      },
      { what: 'submission as fast as possible, p99', value: p99(submit), unit: 'ms', note: `${submitters} at a time; ${note}` },
      { what: 'the same', value: filled, unit: 'jobs/s' },
      { what: 'submission to lease, p99', value: p99(handOver), unit: 'ms', note: `${hosts} hosts wait; ${handOvers} times` },
      { what: 'lease from the long queue, p99', value: p99(claim), unit: 'ms', note: `${hosts} hosts at the same time` },
      { what: 'leased and finished', value: leased.size / seconds, unit: 'jobs/s', note: 'none was leased twice' },
    ];
  } finally {
    clearInterval(reports);
    // A server that stops would not answer them.
    await Promise.allSettled(sent);
    for (const server of servers) await server.stop();
    await database.stop();
  }
}
