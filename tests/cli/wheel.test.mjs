// Ways to install and run the binary: the wheel, and the GitHub Action.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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

/** A `cargo` whose compiler has compiled already: `cargo rustc` reports this binary. Returns the folder to put on the PATH. */
function cargoWith(binary) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  const cargo = execFileSync('which', ['cargo'], { encoding: 'utf8' }).trim();
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 };
  const { packages } = JSON.parse(execFileSync(cargo, ['metadata', '--format-version', '1', '--no-deps'], options));
  const { id, manifest_path, targets } = packages.find(({ name }) => name === 'hipward');
  const profile = { opt_level: '0', debuginfo: 0, debug_assertions: false, overflow_checks: false, test: false };
  const target = targets.find(({ kind }) => kind.includes('bin'));
  const artifact = { reason: 'compiler-artifact', package_id: id, manifest_path, target, profile, features: [] };
  const messages = [
    { ...artifact, filenames: [binary], executable: binary, fresh: true },
    { reason: 'build-finished', success: true },
  ];
  const printed = join(bin, 'messages');
  writeFileSync(printed, messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  writeFileSync(join(bin, 'cargo'), `#!/bin/sh\n[ "$1" = rustc ] && exec cat "${printed}"\nexec "${cargo}" "$@"\n`);
  chmodSync(join(bin, 'cargo'), 0o755);
  return bin;
}

test('maturin builds a wheel of the binary, and pip installs it', { timeout: 120_000 }, () => {
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, encoding: 'utf8' }).trim();
  const dist = join(folder, 'dist');
  // Without the names of functions, which are most of the file.
  const binary = join(mkdtempSync(join(folder, 'stripped-')), 'hipward');
  run('strip', '-o', binary, hipward);
  const environment = {
    ...process.env,
    PATH: `${cargoWith(binary)}:${process.env.PATH}`,
    // maturin copies the binary there.
    CARGO_TARGET_DIR: join(folder, 'target'),
  };
  const build = [join(root, 'tools/build-wheel'), '--profile', 'dev', '--compression-method', 'stored', '--out', dist];
  execFileSync(build[0], build.slice(1), { cwd: folder, encoding: 'utf8', env: environment, stdio: 'pipe' });
  const [wheel, ...others] = readdirSync(dist);
  assert.deepEqual(others, []);
  const { version } = JSON.parse(run('cargo', 'metadata', '--format-version', '1', '--no-deps', '--manifest-path', join(root, 'runner/Cargo.toml'))).packages.find(({ name }) => name === 'hipward');
  assert.match(wheel, new RegExp(`^hipward-${version.replaceAll('.', '\\.')}-py3-none-[a-z]+_.+\\.whl$`));
  const installed = join(folder, 'environment');
  run('python3', '-m', 'venv', installed);
  run(join(installed, 'bin/pip'), 'install', '--quiet', '--no-index', join(dist, wheel));
  assert.equal(run(join(installed, 'bin/hipward'), '--version'), `hipward ${version}`);
  const check = spawnSync(join(installed, 'bin/hipward'), ['check', 'a.py', '--isolated'], { cwd: folder, encoding: 'utf8' });
  assert.equal(check.status, 1);
  assert.match(check.stdout, /HW101 pynvml/);
  assert.match(run(join(installed, 'bin/pip'), 'show', '--files', 'hipward'), /licenses\/LICENSE-MIT/);
});

test('GitHub Action annotates findings and fails', () => {
  const [, block] = readFileSync(join(root, 'action.yml'), 'utf8').match(/ run: \|\n([\s\S]+)$/);
  const environment = { ...process.env, HIPWARD: hipward, GITHUB_ACTION_PATH: root, ARGUMENTS: 'a.py --isolated' };
  const { status, stdout } = spawnSync('bash', ['-e', '-c', block], { cwd: folder, encoding: 'utf8', env: environment });
  assert.equal(status, 1);
  assert.match(stdout, /^::error file=a\.py,line=1/m);
});
