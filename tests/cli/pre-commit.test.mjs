// The pre-commit hooks, run by pre-commit in a new project, with this checkout as the hooks' repository.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, root } from '../support/server.mjs';

const VERSION = '4.7.0';
const cache = process.env.HIPWARD_CACHE ?? join(process.env.HOME, '.cache/hipward');
const environment = join(cache, `pre-commit-${VERSION}`);
const preCommit = join(environment, 'bin/pre-commit');

let folder;
let hooks;

const git = (where, ...arguments_) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...arguments_], {
    cwd: where,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

/** A new repository with these files, committed. */
function repository(name, files) {
  const where = join(folder, name);
  for (const [path, copy] of Object.entries(files)) {
    mkdirSync(dirname(join(where, path)), { recursive: true });
    copy(join(where, path));
  }
  git(where, 'init', '--quiet');
  git(where, 'add', '--all');
  git(where, 'commit', '--quiet', '--message', 'all');
  return where;
}

before(() => {
  if (!existsSync(preCommit)) {
    rmSync(environment, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', environment]);
    execFileSync(join(environment, 'bin/pip'), ['install', '--quiet', `pre-commit==${VERSION}`]);
  }
  folder = mkdtempSync(join(tmpdir(), 'hipward-pre-commit-'));
  // The present files, with uncommitted changes.
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const paths = listed.split('\0').filter((path) => path && existsSync(join(root, path)));
  hooks = repository('hooks', Object.fromEntries(paths.map((path) => [path, (to) => cpSync(join(root, path), to)])));
});

after(() => rmSync(folder, { recursive: true, force: true }));

function project(name, hook, files) {
  const config = `repos:\n- repo: ${hooks}\n  rev: ${git(hooks, 'rev-parse', 'HEAD')}\n  hooks:\n  - id: ${hook}\n`;
  const texts = { '.pre-commit-config.yaml': config, ...files };
  return repository(name, Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, (to) => writeFileSync(to, text)])));
}

/** Runs the hooks on every file, with a `hipward` on the PATH or one named by the environment. */
function run(where, environment = {}) {
  const { status, stdout, stderr } = spawnSync(preCommit, ['run', '--all-files'], {
    cwd: where,
    encoding: 'utf8',
    env: { ...process.env, HIPWARD: hipward, PRE_COMMIT_HOME: join(folder, 'home'), ...environment },
  });
  return { status, text: stdout + stderr };
}

const CONF = 'import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "x"\n';

test('findings stop a commit unless the file is excluded', () => {
  const where = project('check', 'hipward', {
    'a.py': 'import pynvml\n',
    'notes.txt': 'import pynvml\n',
    'old/b.py': 'import apex\n',
    'hipward.toml': 'exclude = ["old/"]\n',
  });
  const { status, text } = run(where);
  assert.equal(status, 1, text);
  assert.match(text, /error\[HW101 pynvml\][\s\S]*--> a\.py:1:8/);
  assert.doesNotMatch(text, /notes\.txt|old\/b\.py/);
  writeFileSync(join(where, 'a.py'), CONF);
  assert.equal(run(where).status, 0, 'a finding of severity info does not fail the hook');
});

test('binary on the PATH is used', () => {
  const where = project('path', 'hipward', { 'a.py': 'import pynvml\n' });
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  cpSync(hipward, join(bin, 'hipward'));
  const { status, text } = run(where, { HIPWARD: '', PATH: `${bin}:${process.env.PATH}` });
  assert.equal(status, 1, text);
  assert.match(text, /HW101 pynvml/);
});

test('without binary and Rust the hook states what to install', () => {
  const where = project('neither', 'hipward', { 'a.py': 'import pynvml\n' });
  const bare = join(folder, 'bare');
  mkdirSync(bare);
  for (const program of ['bash', 'dirname', 'env', 'git', 'sh', 'uname']) {
    const path = execFileSync('which', [program], { encoding: 'utf8' }).trim();
    symlinkSync(path, join(bare, program));
  }
  const { status, text } = run(where, { HIPWARD: '', PATH: bare, CARGO_TARGET_DIR: bare });
  assert.equal(status, 1);
  assert.match(text, /hipward is not on the PATH, and there is no Rust/);
});

test('safe fixes are applied and stop the commit once for review', () => {
  const where = project('fix', 'hipward-fix', { 'a.py': CONF });
  const { status, text } = run(where);
  assert.equal(status, 1, text);
  assert.match(text, /files were modified by this hook/);
  assert.equal(readFileSync(join(where, 'a.py'), 'utf8'), CONF.replace('_CUDA_', '_'));
  assert.equal(run(where).status, 0);
});
