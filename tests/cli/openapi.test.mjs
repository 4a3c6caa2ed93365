// A client generated from /api/openapi.json type-checks and works against a real server, and the events of its jobs match
// the document.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { require, root, startServer } from '../support/server.mjs';

const modules = join(root, 'site/node_modules');
let server;
let folder;

before(async () => {
  server = await startServer(['--time-cap', '1']);
  mkdirSync(join(root, 'target'), { recursive: true });
  folder = mkdtempSync(join(root, 'target/openapi-'));
});

after(async () => {
  if (folder) rmSync(folder, { recursive: true, force: true });
  await server?.stop();
});

const node = (...args) => {
  try {
    execFileSync(process.execPath, args, { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    assert.fail(`${args.join(' ')}\n${error.stdout}${error.stderr}`);
  }
};

test('generated client submits, follows and cancels jobs', async () => {
  const document = await (await fetch(`${server.url}/api/openapi.json`)).json();
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  symlinkSync(modules, join(folder, 'node_modules'));
  copyFileSync(join(root, 'tests/cli/openapi/client.ts'), join(folder, 'client.ts'));
  node(join(modules, 'openapi-typescript/bin/cli.js'), 'openapi.json', '--output', 'schema.d.ts');
  node(
    join(modules, 'typescript/bin/tsc'),
    ...['--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'],
    ...['--lib', 'es2023,dom,dom.iterable', '--skipLibCheck', 'client.ts'],
  );
  const { run } = await import(pathToFileURL(join(folder, 'client.js')));
  const { finished, cancelled, unknownVariant } = await run(server.url);

  assert.equal(finished.kinds[0], 'queued');
  assert.equal(finished.kinds.at(-1), 'done');
  for (const kind of ['leased', 'environment', 'variants', 'precision', 'samples', 'variant_done', 'verdict']) {
    assert.ok(finished.kinds.includes(kind), `${kind} is missing in ${finished.kinds}`);
  }
  assert.ok(finished.median > 0);
  assert.ok(finished.summary.length > 0);
  assert.equal(cancelled.kinds.at(-1), 'cancelled');
  assert.equal(unknownVariant, 'unknown-variant');

  const { default: Ajv } = require('ajv/dist/2020');
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, 'api');
  const isEvent = ajv.getSchema('api#/components/schemas/Event');
  for (const event of [...finished.events, ...cancelled.events]) {
    assert.ok(isEvent(event), `${JSON.stringify(event)}\n${ajv.errorsText(isEvent.errors)}`);
  }
  const isSummary = ajv.getSchema('api#/components/schemas/JobSummary');
  assert.ok(!isEvent({ ...finished.events[0], type: 'party' }));
  assert.ok(!isSummary({ id: 'x' }));
});
