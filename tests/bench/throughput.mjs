// Time of `hipward check` on a folder, beside `ruff check` on the same files, and its peak memory for a thousand and for ten
// thousand files.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastest, run } from './process.mjs';
import { hipward, python } from '../support/server.mjs';

const rounds = 3;
const code = 'import sysconfig, pathlib; print("\\n".join(map(str, sorted(pathlib.Path(sysconfig.get_path("purelib")).rglob("*.py")))))';

export default async function () {
  const files = execFileSync(python, ['-c', code], { encoding: 'utf8', maxBuffer: 1 << 26 }).trim().split('\n');
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  // A copy of the files, so that no tool's exclusions and no ignore file apply.
  const folder = mkdtempSync(join(tmpdir(), 'hipward-bench-'));
  try {
    const copy = (name, some) => {
      const to = join(folder, name);
      mkdirSync(to);
      some.forEach((file, index) => copyFileSync(file, join(to, `f${index}.py`)));
      return to;
    };
    const all = copy('all', files);
    // The same mixture of files; in a small environment files are repeated.
    const many = (count) => Array.from({ length: count }, (_, i) => files[Math.floor((i * files.length) / count)]);
    const [thousand, tenThousand] = [copy('thousand', many(1000)), copy('ten-thousand', many(10_000))];

    const options = ['check', '--isolated', '--format', 'json', '--exit-zero'];
    const check = (folder) => [...options, '--no-cache', folder];
    const ours = await fastest(rounds, hipward, check(all));
    const ruff = ['-m', 'ruff', 'check', '--isolated', '--no-cache', '--exit-zero', '--output-format', 'json', all];
    const theirs = await fastest(rounds, python, ruff);
    const few = await run(hipward, check(thousand));
    const lots = await run(hipward, check(tenThousand));
    const cached = [...options, '--cache-dir', join(folder, 'cache'), tenThousand];
    await run(hipward, cached);
    const again = await fastest(rounds, hipward, cached);

    const note = `${files.length} installed .py files, ${megabytes.toFixed(0)} MB, best of ${rounds}`;
    const speed = (name, { seconds }) => [
      { what: name, value: seconds, unit: 's', note },
      { what: name, value: megabytes / seconds, unit: 'MB/s' },
      { what: name, value: Math.round(files.length / seconds), unit: 'files/s' },
    ];
    return [
      ...speed('hipward check', ours),
      ...speed('ruff check', theirs),
      { what: 'time of hipward over ruff', value: ours.seconds / theirs.seconds, unit: '×', note: "ruff's default rules" },
      { what: 'second check of 10,000 files', value: again.seconds, unit: 's', note: 'unchanged files, from the cache' },
      { what: 'peak memory, 1,000 files', value: few.mebibytes, unit: 'MiB', note: 'hipward check' },
      { what: 'peak memory, 10,000 files', value: lots.mebibytes, unit: 'MiB', note: 'hipward check, the same mixture' },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
