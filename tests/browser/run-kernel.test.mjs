// The playground's panel that executes a CUDA kernel as AMD machine code: paste, take the fixes, run, compare.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findKernel, suggestLaunch, suggestReference } from '../../site/js/kernel-signature.js';
import * as support from '../support/editor.mjs';
import { require, root, startBrowser, startServer } from '../support/server.mjs';

const read = (name) => readFileSync(join(root, 'content/07-how-to/17-emulator', name), 'utf8');
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

async function open() {
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  const requested = [];
  page.on('request', (request) => requested.push(request.url()));
  await page.goto(`${server.url}/playground/`);
  const panel = page.getByRole('region', { name: /^Run as gfx/ });
  return { page, panel, errors, requested, result: panel.getByRole('status', { name: 'Result of the run' }) };
}

test('a CUDA kernel that assumes 32 lanes fails with its lanes, and the right kernel passes', async () => {
  const { page, panel, errors, requested, result } = await open();
  await support.showEditor(page);
  const isPanel = (url) => url.includes('/run-kernel');
  assert.ok(!requested.some(isPanel), 'Python code does not load the panel');
  await support.paste(page, read('rank.cu'));
  await panel.getByRole('heading', { name: 'Run as gfx942' }).waitFor();
  assert.ok(requested.some(isPanel));

  // The mask is a fix that is not safe, so its change is shown first. The width of the ballot has no fix beside lane numbers of 32.
  const findings = page.getByRole('list', { name: /findings/i }).getByRole('listitem');
  const finding = findings.filter({ hasText: 'lane-mask' });
  await finding.locator('.fix button').first().click();
  await finding.getByRole('button', { name: 'Apply', exact: true }).click();
  await finding.waitFor({ state: 'detached' });
  assert.match(await support.code(page), /unsigned mask = __ballot_sync\(0xffffffffffffffffull/);
  assert.match(await findings.filter({ hasText: 'ballot-width' }).innerText(), /Use 64 bits, also in shifts/);

  const launch = panel.getByLabel('Launch and arguments (TOML)');
  assert.match(await launch.inputValue(), /kernel = "rank_positive"[\s\S]*name = "x"\ndtype = "float32"/);
  await launch.fill(read('rank.toml'));
  await panel.getByText('Reference in NumPy or PyTorch').click();
  const reference = panel.getByLabel('Python with a function reference');
  await panel.getByRole('button', { name: 'Begin a reference' }).click();
  assert.match(await reference.inputValue(), /def reference\(x, rank, n\):/);
  await reference.fill(read('rank_reference.py'));
  const run = panel.getByRole('button', { name: 'Run as gfx942' });
  // The server looks for its compilers first.
  await page.waitForFunction((button) => !button.disabled, await run.elementHandle(), PATIENCE);
  await run.click();
  await result.getByText('Failed.').waitFor(PATIENCE);
  const text = await result.innerText();
  assert.match(text, /rank: \d+ of 100 elements differ from the reference/);
  assert.match(text, /Only lanes 32 to 63 differ: the code may assume a warp of 32 threads/);
  const lanes = result.getByRole('table', { name: 'Lanes that stored wrong elements of rank' });
  const rows = await lanes.locator('tbody tr').allInnerTexts();
  assert.ok(rows.length > 0);
  for (const row of rows) {
    const numbers = row.split('\t')[2].match(/\d+/g).map(Number);
    assert.ok(numbers.every((lane) => lane >= 32 && lane < 64), row);
  }
  assert.match(await result.getByRole('table', { name: 'The first wrong elements of rank' }).innerText(), /lane 3[2-9] of wavefront 0/);

  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const violations = await page.evaluate(async () => (await globalThis.axe.run('.run-panel')).violations.map(({ id }) => id));
  assert.deepEqual(violations, []);

  // With 64 bits, and the half of them that belongs to the 32 lanes, the kernel is right.
  const fixed = (await support.code(page))
    .replace('unsigned mask', 'unsigned long long mask')
    .replace('(mask &', '((mask >> (threadIdx.x & 32)) &');
  await support.paste(page, fixed);
  await panel.getByText('The code has changed since this run.').waitFor();
  assert.equal(await launch.inputValue(), read('rank.toml'), 'an edited launch stays');
  await run.click();
  await result.getByText('Passed.').waitFor(PATIENCE);
  assert.match(await result.innerText(), /No findings; rank agrees with the reference\./);

  // Bad input ends with a sentence.
  for (const [given, expected] of [
    [read('rank.toml').replace('grid = 1', 'grid = 4294967296'), /from 1 to 2³²-1/],
    [read('rank.toml').replace('grid = 1', 'grid = 1\nlds = 1073741824'), /1073741824 bytes of LDS; gfx942 has 65536/],
    [read('rank.toml').replace('"int32"\nvalue', '"int64"\nvalue'), /takes 4 bytes; the launch has 8/],
  ]) {
    await launch.fill(given);
    await run.click();
    await result.getByText('Not executed.').waitFor(PATIENCE);
    await result.getByText(expected).waitFor();
  }
  // A loop that does not end, with its line.
  await support.paste(page, '#include <hip/hip_runtime.h>\n__global__ void spin(volatile int* flag) {\n  while (*flag == 0) {}\n}\n');
  await panel.getByRole('button', { name: 'Suggest again' }).click();
  await launch.fill(`budget = 10000\n${(await launch.inputValue()).replace('low = 0\nhigh = 100', 'data = "zeros"')}`);
  await reference.fill('');
  await run.click();
  await result.getByText('The kernel did not run to its end, line 3').waitFor(PATIENCE);
  assert.match(await result.innerText(), /did not end within 10000 instructions/);

  await support.paste(page, 'import torch\n');
  await panel.waitFor({ state: 'hidden' });
  assert.deepEqual(errors, []);
  await page.context().close();
});

test('without a runner, the panel states what is missing and the command for a terminal', async () => {
  for (const [answer, expected] of [
    [undefined, /This copy of the site has no runner/],
    [{ ready: true, hip_compiler: null, devices: [] }, /This runner has no clang .* Install clang 22 or later/],
  ]) {
    const { page, panel } = await open();
    await page.route('**/api/v1/capabilities', (route) => (answer ? route.fulfill({ json: answer }) : route.fulfill({ status: 404 })));
    await support.paste(page, read('rank.cu'));
    await panel.getByText(expected).waitFor();
    await panel.getByText('hipward run kernel.cu --arch gfx942 --args run.toml', { exact: true }).waitFor();
    assert.ok(await panel.getByRole('button', { name: /^Run as/ }).isHidden());
    await panel.getByLabel('GPU').selectOption('gfx90a');
    await panel.getByText('hipward run kernel.cu --arch gfx90a --args run.toml', { exact: true }).waitFor();
    await page.context().close();
  }
});

test('a launch is suggested from the signature of a kernel', () => {
  const source = `// __global__ void no(int a) {}
__global__ void declared(int* x);
template <typename T>
__global__ void __launch_bounds__(128) tiles(const T* __restrict__ a, const half *b, float c[], int rows, unsigned cols, float scale, Shape shape) {
  extern __shared__ float tile[];
  c[threadIdx.y] = 0;
}`;
  assert.equal(findKernel(source).name, 'tiles');
  const launch = suggestLaunch(source);
  for (const part of [
    'kernel = "tiles"\ngrid = [2, 2]\nblock = [16, 16]\nlds = 4096',
    'name = "a"\ndtype = "float32"  # a guess for T\nshape = [1024]\n',
    'name = "b"\ndtype = "float16"\nshape = [1024]\n\n',
    'name = "c"\ndtype = "float32"\nshape = [1024]\ndata = "zeros"',
    'name = "rows"\ndtype = "int32"\nvalue = 32',
    'name = "cols"\ndtype = "uint32"\nvalue = 32',
    'name = "scale"\ndtype = "float32"\nvalue = 1.0',
    'name = "shape"\nbytes = "00000000"  # a guess for Shape',
    'a template has machine code only if the source instantiates it',
  ]) {
    assert.ok(launch.toLowerCase().includes(part.toLowerCase()), `${part}\n---\n${launch}`);
  }
  assert.match(suggestReference(source), /def reference\(a, b, c, rows, cols, scale, shape\):[\s\S]*return \{"c": c\}/);
  assert.equal(suggestLaunch('int main() {}'), '');
});
