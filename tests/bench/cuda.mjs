// `hipward check` on CUDA C++, beside hipify-perl where that is on the path: the headers and sources that PyTorch installs.

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastest } from './process.mjs';
import { hipward, python } from '../support/server.mjs';

const rounds = 3;
const code = `
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("purelib"))
print("\\n".join(str(path) for path in sorted(root.rglob("*")) if path.suffix in (".cu", ".cuh")))`;

export default async function () {
  const files = execFileSync(python, ['-c', code], { encoding: 'utf8', maxBuffer: 1 << 26 }).trim().split('\n');
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  const folder = mkdtempSync(join(tmpdir(), 'hipward-bench-'));
  try {
    const copies = files.map((file, index) => join(folder, `f${index}${file.endsWith('.cu') ? '.cu' : '.cuh'}`));
    files.forEach((file, index) => copyFileSync(file, copies[index]));
    const ours = await fastest(rounds, hipward, ['check', '--isolated', '--format', 'json', '--exit-zero', folder]);
    const note = `${files.length} installed .cu and .cuh files, ${megabytes.toFixed(1)} MB, best of ${rounds}`;
    const rows = [
      { what: 'hipward check', value: ours.seconds, unit: 's', note },
      { what: 'hipward check', value: megabytes / ours.seconds, unit: 'MB/s' },
    ];
    if (spawnSync('hipify-perl', ['--version']).error) {
      return [...rows, { what: 'hipify-perl', note: 'not on the path, so there is no comparison' }];
    }
    // It takes a second for a small file, so a sample has to do. `-examine` counts and writes nothing.
    const sample = copies.filter((_, index) => index % 100 === 50);
    const size = sample.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
    const perl = await fastest(1, 'hipify-perl', ['-examine', ...sample]);
    const how = `-examine on every 100th of the files, ${(size * 1000).toFixed(0)} KB in ${perl.seconds.toFixed(1)} s`;
    return [...rows, { what: 'hipify-perl', value: size / perl.seconds, unit: 'MB/s', note: how }];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
