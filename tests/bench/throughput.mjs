// How fast `hipward check` goes through a folder, beside `ruff check` on the same files, and how much memory it takes for
// few and for many. Prints a table; `make bench` calls it.

import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { python } from '../support/server.mjs';

const rounds = 3;
const hipward = process.env.HIPWARD;
const code = 'import sysconfig, pathlib; print("\\n".join(map(str, sorted(pathlib.Path(sysconfig.get_path("purelib")).rglob("*.py")))))';
const files = spawnSync(python, ['-c', code], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout.trim().split('\n');
const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;

// The same files in a folder of their own, so that no tool's exclusions and no ignore file decide.
const folder = mkdtempSync(join(tmpdir(), 'hipward-bench-'));
try {
  const copy = (name, some) => {
    const to = join(folder, name);
    mkdirSync(to);
    some.forEach((file, index) => copyFileSync(file, join(to, `f${index}.py`)));
    return to;
  };
  const all = copy('all', files);
  const tenth = copy('tenth', files.filter((_, index) => index % 10 === 0));

  const ours = await fastest(hipward, ['check', '--format', 'json', '--exit-zero', all]);
  const ruff = await fastest(python, ['-m', 'ruff', 'check', '--isolated', '--no-cache', '--exit-zero', '--output-format', 'json', all]);
  const few = await run(hipward, ['check', '--format', 'json', '--exit-zero', tenth]);

  console.log(`${files.length} files, ${megabytes.toFixed(1)} MB, best of ${rounds}`);
  console.log(`| | seconds | MB/s | files/s | peak memory, MiB |\n|---|---:|---:|---:|---:|`);
  for (const [name, { seconds, peak }, size, count] of [
    ['hipward check', ours, megabytes, files.length],
    ['ruff check, its default rules', ruff, megabytes, files.length],
    ['hipward check, every tenth file', few, undefined, Math.ceil(files.length / 10)],
  ]) {
    const rate = size === undefined ? '' : (size / seconds).toFixed(1);
    console.log(`| ${name} | ${seconds.toFixed(2)} | ${rate} | ${Math.round(count / seconds)} | ${peak.toFixed(0)} |`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function fastest(program, args) {
  let best;
  for (let round = 0; round < rounds; round++) {
    const one = await run(program, args);
    if (!best || one.seconds < best.seconds) best = one;
  }
  return best;
}

// A child's wall time and the most memory it held, looked up every few milliseconds.
function run(program, args) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(program, args, { stdio: 'ignore' });
    let peak = 0;
    const look = setInterval(() => {
      try {
        const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
        peak = Math.max(peak, Number(kib ?? 0) / 1024);
      } catch {
        // It has just ended.
      }
    }, 5);
    child.on('error', reject);
    child.on('exit', (status) => {
      clearInterval(look);
      const seconds = (performance.now() - start) / 1000;
      if (status === 0) resolve({ seconds, peak });
      else reject(new Error(`${program} ended with ${status}`));
    });
  });
}
