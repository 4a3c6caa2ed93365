// The exercise of a lesson whose answer is a HIP kernel: compiled, executed in the emulator, and judged.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { require, root, startBrowser, startServer } from '../support/server.mjs';

const read = (name) => readFileSync(join(root, 'content/03-optimize/09-fused-rmsnorm/block', name), 'utf8');
const PATIENCE = { timeout: 120_000 };

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test('a kernel is judged by its results and the findings of the emulator', async () => {
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${server.url}/learn/optimize/fused-rmsnorm/`);
  const exercise = page.locator('[data-exercise="optimize/fused-rmsnorm/block"]');
  const area = exercise.locator('textarea');
  const result = exercise.locator('[data-result]');
  const check = exercise.getByRole('button', { name: 'Check' });
  const { hip_compiler: compiler } = await (await fetch(`${server.url}/api/v1/capabilities`)).json();
  if (!compiler) return;
  await page.waitForFunction((button) => !button.disabled, await check.elementHandle());
  const selected = () => area.evaluate((element) => element.value.slice(element.selectionStart, element.selectionEnd));

  await area.fill(read('wrong/no_barrier.hip'));
  await check.click();
  await result.getByText('Not yet.').waitFor(PATIENCE);
  const findings = result.getByRole('list', { name: 'Findings of the emulator' }).first();
  assert.match(await findings.innerText(), /lds-race: wavefronts 1 and 0 access LDS/);
  assert.match(await result.innerText(), /y\[0, 0\] is .*, expected .*Stored by lane 0 of wavefront 0/);
  const race = findings.locator('li', { hasText: 'lds-race' }).last();
  await race.getByRole('button', { name: /^Line \d+$/ }).click();
  assert.match(await selected(), /parts\[threadIdx\.x \+ step\]/);

  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const violations = await page.evaluate(async () => (await globalThis.axe.run('.write')).violations.map(({ id }) => id));
  assert.deepEqual(violations, []);

  await area.fill(read('solution.hip').replace('float sum = 0;', 'float sun = 0;'));
  await check.click();
  await result.getByText('The kernel does not compile.').waitFor(PATIENCE);
  assert.match(await result.innerText(), /use of undeclared identifier 'sum'/);

  await area.fill(read('solution.hip'));
  await check.click();
  await result.getByText('Solved. Every case passes.').waitFor(PATIENCE);
  const downloaded = page.waitForEvent('download');
  await exercise.getByRole('button', { name: 'Download' }).click();
  assert.equal((await downloaded).suggestedFilename(), 'start.hip');
  assert.deepEqual(errors, []);
  await context.close();
});

test('a runner without clang is named, with what to install', async () => {
  const page = await browser.newPage();
  const answer = await (await fetch(`${server.url}/api/v1/capabilities`)).json();
  await page.route('**/api/v1/capabilities', (route) => route.fulfill({ json: { ...answer, hip_compiler: null } }));
  await page.goto(`${server.url}/learn/optimize/fused-rmsnorm/`);
  const kernel = page.locator('[data-exercise="optimize/fused-rmsnorm/block"]');
  await kernel.getByText(/This runner has no clang .* Install clang 22 or later/).waitFor();
  assert.ok(await kernel.getByRole('button', { name: 'Check' }).isHidden());
  assert.ok(await kernel.getByText('hipward try optimize/fused-rmsnorm/block start.hip').isVisible());
  const python = page.locator('[data-exercise="optimize/fused-rmsnorm/rmsnorm"]');
  assert.ok(await python.getByRole('button', { name: 'Check' }).isVisible());
  await page.close();
});
