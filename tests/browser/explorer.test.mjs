// The explorer on the page for machine code: kernels run in the browser, in the emulator of kernels/emulator.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { require, startBrowser, startServer } from '../support/server.mjs';

let server;
let browser;
let page;
const errors = [];
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  page = await browser.newPage();
  page.on('pageerror', (error) => errors.push(error.message));
  // The server looks for its compilers before it sends the page for the first time.
  await page.goto(`${server.url}/isa/`, { timeout: 180_000 });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const explorer = () => page.locator('[data-explorer]');
const region = (name) => explorer().locator(`[data-region=${name}]`);
const press = (name) => explorer().getByRole('button', { name, exact: true }).click();
const line = (code) => explorer().locator('.listing [data-line]').filter({ hasText: code });

async function run(kernel) {
  await page.goto(`${server.url}/isa/`);
  // The island has loaded once the form can be used.
  await page.getByRole('button', { name: 'Compile', exact: true }).and(page.locator(':enabled')).waitFor();
  await explorer().getByLabel('Kernel to run').selectOption(kernel);
  await press('Run');
  await region('outcome').waitFor();
}

// Waits until the current instruction matches.
const at = (pattern) => region('step').filter({ hasText: pattern }).waitFor();

test('the emulator is loaded only when a kernel is run', async () => {
  const requested = [];
  const listen = (request) => requested.push(request.url());
  page.on('request', listen);
  await page.goto(`${server.url}/isa/`, { waitUntil: 'networkidle' });
  const isOfEmulator = (url) => /\/emulator|launches\.json/.test(url);
  assert.deepEqual(requested.filter(isOfEmulator), []);
  await explorer().getByLabel('Kernel to run').selectOption('softmax');
  await press('Run');
  await region('outcome').filter({ hasText: /executed \d+ instructions/ }).waitFor();
  assert.ok(requested.some((url) => /\/emulator_bg-.*\.wasm$/.test(url)));
  page.off('request', listen);
});

test('a kernel runs, and its buffers and counts are shown', async () => {
  await run('branch');
  assert.match(await region('outcome').innerText(), /^The kernel executed \d+ instructions\.$/);
  await explorer().getByText('y: 64 elements of i32').click();
  // 4 is halved twice, lane 7 takes no part, 8 is halved three times.
  const values = (await explorer().locator('pre.values').nth(1).innerText()).split(/\s+/).map(Number);
  assert.deepEqual(values.slice(0, 9), [0, 0, 1, 0, 2, 3, 3, 0, 3]);
  const counts = await explorer().getByRole('region', { name: 'Counts' }).innerText();
  assert.match(counts, /lanes masked in vector instructions\s+\d+ of \d+/);
  assert.match(await region('bounds').innerText(), /MI300X: [\d.]+ ns for 512 different bytes at 5\.3\d* TB\/s/);
  assert.match(await explorer().innerText(), /The checks found nothing/);
});

test('steps go forward and back, and a loop that lanes leave masks them', async () => {
  await run('branch');
  await at(/^Instruction 1 of \d+, line \d+\. Wavefront 0 of workgroup 0, 0, 0; 64 of 64 lanes/);
  await press('Step');
  await at(/^Instruction 2 of/);
  await press('Back');
  await at(/^Instruction 1 of/);
  // Every fourth lane, and lanes with a number of at most 1, skip the loop.
  await line('v_mul_f32').click();
  await at(/46 of 64 lanes are active/);
  const current = await explorer().locator('[aria-current=step]').innerText();
  assert.match(current, /^\s*\d+ {2}v_mul_f32/);
  const active = await explorer().locator('.lanes span:not(.off)').count();
  assert.equal(active, 46);
  const table = await explorer().getByRole('region', { name: 'Registers of each lane' }).innerText();
  assert.match(table, /Lane\s+Active\s+v1/);
  assert.match(table, /\n3\s+masked/);
  // The second round has fewer lanes.
  await line('v_mul_f32').click();
  await at(/45 of 64 lanes are active/);
  await press('Last');
  await at(/^Instruction (\d+) of \1,/);
  await press('First');
  await at(/^Instruction 1 of/);
});

test('the access of an instruction is drawn as segments and banks', async () => {
  await run('transpose');
  await line('global_load').first().click();
  await region('access').filter({ hasText: '256 bytes in 4 segments of 64 bytes.' }).waitFor();
  assert.equal(await explorer().locator('.segment').count(), 4);
  await line('ds_read').first().click();
  await region('access').filter({ hasText: /bytes of LDS\. Bank conflicts add [1-9]\d* cycles\./ }).waitFor();
  assert.ok((await explorer().locator('.banks .many').count()) > 0);
  const counts = await explorer().getByRole('region', { name: 'Counts' }).innerText();
  assert.match(counts, /cycles that bank conflicts add\s+[1-9]/);
  await press('Next wavefront');
  await at(/Wavefront 1 of workgroup/);
});

test('keys in the listing step, and fields keep their own keys', async () => {
  await run('transpose');
  const listing = explorer().getByLabel('Instructions');
  await listing.focus();
  await at(/^Instruction 1 of/);
  await page.keyboard.press('ArrowRight');
  await at(/^Instruction 2 of/);
  await page.keyboard.press('ArrowDown');
  await at(/^Instruction 3 of .* lanes are active\. [sv]_\w+ /);
  await page.keyboard.press('ArrowLeft');
  await at(/^Instruction 2 of/);
  await page.keyboard.press('ArrowUp');
  await at(/^Instruction 1 of/);
  await page.keyboard.press('End');
  await at(/^Instruction (\d+) of \1,/);
  await page.keyboard.press('Home');
  await at(/^Instruction 1 of/);
  await page.keyboard.press('PageDown');
  await at(/Wavefront 1 of workgroup/);
  // On a button the keys are the same; in a field they are the field's.
  await page.keyboard.press('Home');
  await at(/^Instruction 1 of/);
  await explorer().getByRole('button', { name: 'Step', exact: true }).focus();
  await page.keyboard.press('ArrowRight');
  await at(/^Instruction 2 of/);
  await explorer().getByLabel('Run to line').focus();
  await page.keyboard.type('12');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  assert.match(await region('step').innerText(), /^Instruction 2 of/);
  // An entered line would be run to when the field is left.
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await listing.focus();
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('ArrowRight');
  await at(/^Instruction 3 of/);
});

test('drawings are tables as well, and the explorer has no violations of accessibility rules', async () => {
  const context = await browser.newContext({ bypassCSP: true });
  const before = page;
  page = await context.newPage();
  await run('transpose');
  await line('global_load').first().click();
  await region('access').filter({ hasText: 'in 4 segments' }).waitFor();
  const drawn = () => explorer().getByRole('table', { name: 'Lanes of each place' });
  await explorer().getByText('The drawing as a table').click();
  assert.equal(await drawn().locator('tbody tr').count(), 4);
  const segment = await drawn().locator('tbody tr').first().locator('td').innerText();
  assert.equal(segment, Array.from({ length: 16 }, (_, lane) => lane).join(', '));
  await line('ds_read').first().click();
  // The table stays open while the reader steps.
  await region('access').filter({ hasText: 'bytes of LDS' }).waitFor();
  const banks = await drawn().locator('tbody tr').allInnerTexts();
  assert.ok(banks.length > 0 && banks.every((row) => /^bank \d+\s+\d+(, \d+)*$/.test(row)), banks.join('\n'));
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const violations = await page.evaluate(async () =>
    (await globalThis.axe.run('[data-explorer]')).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`),
  );
  page = before;
  await context.close();
  assert.deepEqual(violations, []);
});

test('a load past the end is reported with its line and lane', async () => {
  await run('past-the-end');
  const finding = await region('checks').innerText();
  assert.match(finding, /out-of-bounds at line \d+: lane 63 loads 8 bytes .* of x, which has 256 bytes/);
  assert.match(finding, /First in workgroup 0, 0, 0, wavefront 0, lane 63/);
  // With one element more, the kernel is right.
  await explorer().getByText('Inputs of the launch').click();
  await explorer().getByLabel('Elements of x').fill('65');
  await press('Run');
  await explorer().getByText('The checks found nothing').waitFor();
});

test('a launch that cannot run reports the reason', async () => {
  await run('branch');
  await explorer().getByText('Inputs of the launch').click();
  await explorer().getByLabel('Work-items of a workgroup, x').fill('4096');
  await press('Run');
  const trouble = explorer().getByRole('alert');
  await trouble.filter({ hasText: /cannot run this: line \d+: a workgroup of 4096 work-items is not possible/ }).waitFor();
  await explorer().getByLabel('Work-items of a workgroup, x').fill('64');
  await explorer().getByLabel('Workgroups, x').fill('4294967296');
  await press('Run');
  await trouble.filter({ hasText: /A grid of 4294967296, 1, 1 is not possible: each size is at most 4294967295/ }).waitFor();
  await explorer().getByLabel('Workgroups, x').fill('1');
  await press('Run');
  await region('outcome').waitFor();
  assert.equal(await trouble.innerText(), '');
  assert.deepEqual(errors, []);
});

test('the explorer fits a phone', async () => {
  const phone = await browser.newPage({ viewport: { width: 390, height: 844 } });
  const before = page;
  page = phone;
  await run('transpose');
  await line('ds_read').first().click();
  await region('access').waitFor();
  const width = await phone.evaluate(() => document.documentElement.scrollWidth);
  page = before;
  await phone.close();
  assert.ok(width <= 390, `${width} px`);
});
