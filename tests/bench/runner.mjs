// What the runner adds to a benchmark: POST to the first event, and a whole job through the runner
// beside the same harness started by hand.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from './process.mjs';
import { finished, python, root, startServer } from '../support/server.mjs';

const snippet = join(root, 'kernels/examples/rmsnorm.py');
const code = readFileSync(snippet, 'utf8');
const request = { code, variants: ['eager', 'eager-control'] };
const timeCap = '1';

async function post(url) {
  const answer = await fetch(`${url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  return (await answer.json()).id;
}

async function firstEvent(url) {
  const start = performance.now();
  const id = await post(url);
  const stream = await fetch(`${url}/api/v1/jobs/${id}/events`);
  const reader = stream.body.getReader();
  let text = '';
  while (!text.includes('data:')) text += new TextDecoder().decode((await reader.read()).value);
  const elapsed = performance.now() - start;
  await reader.cancel();
  await fetch(`${url}/api/v1/jobs/${id}`, { method: 'DELETE' });
  await finished(url, id);
  return elapsed;
}

async function wholeJob(url) {
  const start = performance.now();
  await finished(url, await post(url));
  return performance.now() - start;
}

function byHand() {
  const start = performance.now();
  const args = ['-m', 'hipward_kernels.harness', snippet, '--variants', 'eager,eager-control', '--time-cap', timeCap];
  const run = spawnSync(python, args, { env: { ...process.env, PYTHONPATH: join(root, 'kernels') } });
  if (run.status !== 0) throw new Error(run.stderr.toString());
  return performance.now() - start;
}

export default async function () {
  const server = await startServer(['--time-cap', timeCap]);
  try {
    const started = performance.now();
    while (!(await (await fetch(`${server.url}/api/v1/capabilities`)).json()).ready) {
      if (performance.now() - started > 60_000) throw new Error('the runner never became ready');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const first = [];
    for (let i = 0; i < 11; i++) first.push(await firstEvent(server.url));
    const through = [];
    const hand = [];
    for (let i = 0; i < 5; i++) {
      hand.push(byHand());
      through.push(await wholeJob(server.url));
      // A new worker warms up meanwhile, as it does while a person reads a result.
      await new Promise((resolve) => setTimeout(resolve, 6000));
    }
    return [
      { what: 'POST to the first event', value: median(first), unit: 'ms', note: 'median of 11' },
      { what: 'job through the runner', value: median(through), unit: 'ms', note: 'warm worker, median of 5' },
      { what: 'same harness by hand', value: median(hand), unit: 'ms', note: 'median of 5' },
      { what: 'runner over by hand', value: median(through) / median(hand), unit: '×', note: 'it does not pay the import of torch' },
    ];
  } finally {
    await server.stop();
  }
}
