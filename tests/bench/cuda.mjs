// CUDA C++: the .cu and .cuh files that the environment has installed, checked, and translated beside PyTorch's own
// hipify and, where that is on the path, hipify-perl.

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastest, run } from './process.mjs';
import { hipward, python } from '../support/server.mjs';

const rounds = 3;
// hipify-perl takes seconds per file, so it gets as many files as it can read in this time.
const perlSeconds = 30;
const installed = `
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("purelib"))
print("\\n".join(str(path) for path in sorted(root.rglob("*")) if path.suffix in (".cu", ".cuh")))`;

// It measures its own time, without the import.
const torchHipify = `
import sys, time
from torch.utils.hipify.hipify_python import hipify
start = time.perf_counter()
hipify(sys.argv[1], output_directory=sys.argv[2], extensions=(".cu", ".cuh"), show_progress=False, is_pytorch_extension=True)
print("\\n", time.perf_counter() - start)`;

export default async function () {
  const files = execFileSync(python, ['-c', installed], { encoding: 'utf8', maxBuffer: 1 << 26 }).trim().split('\n');
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  const scratch = mkdtempSync(join(tmpdir(), 'hipward-bench-'));
  let copies = 0;
  const copy = () => {
    const folder = join(scratch, `copy${copies++}`);
    mkdirSync(folder);
    files.forEach((file, index) => copyFileSync(file, join(folder, `f${index}${file.endsWith('.cu') ? '.cu' : '.cuh'}`)));
    return folder;
  };
  try {
    const folder = copy();
    const check = (...args) => ['check', '--isolated', '--format', 'json', '--exit-zero', ...args];
    const ours = await fastest(rounds, hipward, check(folder));

    const fixed = [];
    const theirs = [];
    for (let round = 0; round < rounds; round++) {
      // Translated files are skipped in a second run.
      fixed.push((await run(hipward, check('--fix', copy()))).seconds);
      const { text } = await run(python, ['-c', torchHipify, copy(), join(scratch, `out${round}`)], { keep: true });
      theirs.push(Number(text.trim().split('\n').at(-1)));
    }

    const note = `${files.length} installed .cu and .cuh files, ${megabytes.toFixed(1)} MB, best of ${rounds}`;
    const speed = (what, seconds, note) => ({ what, value: megabytes / seconds, unit: 'MB/s', note });
    const rows = [
      speed('hipward check', ours.seconds, note),
      speed('hipward check --fix', Math.min(...fixed), 'the same; translates and writes'),
      speed('torch.utils.hipify', Math.min(...theirs), 'the same, without the import of torch'),
    ];
    if (spawnSync('hipify-perl', ['--version']).error) {
      return [...rows, { what: 'hipify-perl', note: 'not on the path, so there is no comparison' }];
    }
    const perl = await sampled(files);
    const how = `-examine on ${perl.files} of the files, ${(perl.bytes / 1000).toFixed(0)} KB in ${perl.seconds.toFixed(1)} s`;
    return [...rows, { what: 'hipify-perl', value: perl.bytes / 1e6 / perl.seconds, unit: 'MB/s', note: how }];
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** hipify-perl on files from all over the list, one by one. `-examine` counts and writes nothing. */
async function sampled(files) {
  const done = { files: 0, bytes: 0, seconds: 0 };
  for (let at = 0; at < files.length && done.seconds < perlSeconds; at += Math.ceil(files.length / 50)) {
    const { seconds } = await run('hipify-perl', ['-examine', files[at]]);
    done.files++;
    done.bytes += statSync(files[at]).size;
    done.seconds += seconds;
  }
  return done;
}
