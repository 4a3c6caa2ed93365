// Child processes that are measured.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The median. */
export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The fastest of some runs: noise only adds. */
export async function fastest(rounds, program, args, options) {
  let best;
  for (let round = 0; round < rounds; round++) {
    const one = await run(program, args, options);
    if (!best || one.seconds < best.seconds) best = one;
  }
  return best;
}

/**
 * A child's wall time, its peak memory (sampled every few milliseconds), and its output if `keep` is set. `input` is its
 * standard input; `env` is added to the environment.
 */
export function run(program, args, { keep = false, cwd, env, input } = {}) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const stdio = [input === undefined ? 'ignore' : 'pipe', keep ? 'pipe' : 'ignore', keep ? 'inherit' : 'ignore'];
    const child = spawn(program, args, { cwd, stdio, env: { ...process.env, ...env } });
    child.stdin?.end(input);
    const end = () => child.kill('SIGTERM');
    process.once('exit', end);
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part) => (text += part));
    let mebibytes = 0;
    const look = setInterval(() => {
      try {
        const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
        mebibytes = Math.max(mebibytes, Number(kib ?? 0) / 1024);
      } catch {
        // The process has just ended.
      }
    }, 5);
    child.on('error', reject);
    child.on('close', (status) => {
      clearInterval(look);
      process.off('exit', end);
      const seconds = (performance.now() - start) / 1000;
      if (status === 0) resolve({ seconds, mebibytes, text });
      else reject(new Error(`${program} ended with ${status}`));
    });
  });
}
