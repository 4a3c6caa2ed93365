// When `make serve` builds: after any change, and whenever a part of the last build is missing.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/server.mjs';

test('a build is complete only if nothing is missing, changed or from another checkout', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hipward-build-'));
  const [checkout, target, assets] = ['checkout', 'built', 'assets'].map((name) => join(folder, name));
  const isBuilt = () => {
    const env = { ...process.env, CARGO_TARGET_DIR: target, HIPWARD_ASSETS: assets };
    return spawnSync(join(checkout, 'tools/is-built'), { env }).status === 0;
  };
  const remade = (path, make) => {
    rmSync(path, { recursive: true });
    assert(!isBuilt(), `without ${path}`);
    make();
  };
  try {
    for (const path of [join(checkout, 'tools'), join(target, 'debug'), assets]) mkdirSync(path, { recursive: true });
    cpSync(join(root, 'tools/is-built'), join(checkout, 'tools/is-built'));
    const source = join(checkout, 'main.rs');
    writeFileSync(source, '');
    const binary = join(target, 'debug/hipward');
    const write = {
      binary: () => writeFileSync(binary, '', { mode: 0o755 }),
      checkout: () => writeFileSync(join(target, '.checkout'), `${checkout}\n`),
      time: () => writeFileSync(join(target, '.built'), ''),
    };
    for (const make of Object.values(write)) make();
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(target, '.built'), later, later);
    assert(isBuilt());
    remade(binary, write.binary);
    remade(assets, () => mkdirSync(assets));
    remade(join(target, '.checkout'), write.checkout);
    assert(isBuilt());
    writeFileSync(join(target, '.checkout'), '/another/checkout\n');
    assert(!isBuilt(), 'from another checkout');
    write.checkout();
    const changed = new Date(Date.now() + 120_000);
    utimesSync(source, changed, changed);
    assert(!isBuilt(), 'after a change');
    rmSync(join(target, '.built'));
    assert(!isBuilt(), 'never');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
