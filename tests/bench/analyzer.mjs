// A full analysis beside the bare parse of the same files: PyTorch's own, on one thread, without the command line.

import { execFileSync } from 'node:child_process';
import { run } from './process.mjs';
import { python, root } from '../support/server.mjs';

export default async function () {
  const code = 'import importlib.util as u, os; print(os.path.dirname(u.find_spec("torch").origin))';
  const torch = execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
  const example = ['run', '--quiet', '--locked', '--release', '--package', 'hipward-analyzer', '--example', 'parse_ratio', '--', torch, '9'];
  const { text } = await run('cargo', example, { keep: true, cwd: root });
  const numbers = text.trim().split('\n').at(-1).split('|').map((cell) => Number(cell)).slice(1, -1);
  const [files, megabytes, , , , ratio, rate] = numbers;
  const note = `${files} files of torch, ${megabytes} MB, release build, one thread`;
  return [
    { what: 'full analysis over bare parse', value: ratio, unit: '×', note: `${note}; limit 1.5` },
    { what: 'full analysis', value: rate, unit: 'MB/s', note },
  ];
}
