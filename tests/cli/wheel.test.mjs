// Ways to install and run the binary: the wheel, and the GitHub Action.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, root } from '../support/server.mjs';

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-wheel-'));
  writeFileSync(join(folder, 'a.py'), 'import pynvml\n');
});

after(() => rmSync(folder, { recursive: true, force: true }));

test('pip installs the wheel, and the program runs', () => {
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, encoding: 'utf8' }).trim();
  // A small program in place of the binary: the installation is the same, and takes less time.
  const script = join(folder, 'script');
  writeFileSync(script, `#!/bin/sh\nexec "${hipward}" "$@"\n`);
  const wheel = run(join(root, 'tools/build-wheel'), script, join(folder, 'dist'));
  const environment = join(folder, 'environment');
  run('python3', '-m', 'venv', environment);
  run(join(environment, 'bin/pip'), 'install', '--quiet', '--no-index', wheel);
  assert.equal(run(join(environment, 'bin/hipward'), '--version'), run(hipward, '--version'));
  assert.match(run(join(environment, 'bin/pip'), 'show', '--files', 'hipward'), /bin\/hipward/);
});

test('GitHub Action annotates findings and fails', () => {
  const [, block] = readFileSync(join(root, 'action.yml'), 'utf8').match(/ run: \|\n([\s\S]+)$/);
  const environment = { ...process.env, HIPWARD: hipward, GITHUB_ACTION_PATH: root, ARGUMENTS: 'a.py --isolated' };
  const { status, stdout } = spawnSync('bash', ['-e', '-c', block], { cwd: folder, encoding: 'utf8', env: environment });
  assert.equal(status, 1);
  assert.match(stdout, /^::error file=a\.py,line=1/m);
});
