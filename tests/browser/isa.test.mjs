// The page for machine code: a recorded example without a script, and the real compiler behind the form.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { code, editor, paste, showEditor } from '../support/editor.mjs';
import { startBrowser, startServer } from '../support/server.mjs';

const triton = `import triton
import triton.language as tl


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x * 2, mask=at < n)
`;

let server;
let browser;
let page;
const errors = [];
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  page = await browser.newPage();
  page.on('pageerror', (error) => errors.push(error.message));
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const result = () => page.locator('[data-region=isa]');
const compile = () => page.getByRole('button', { name: 'Compile', exact: true });
const patience = { timeout: 180_000 };

test('a host without a compiler for HIP is reported before a source is sent', async () => {
  // This host may have a compiler.
  await page.route('**/api/v1/capabilities', async (route) => {
    const { hip_compiler: _, ...json } = await (await route.fetch()).json();
    await route.fulfill({ json });
  });
  await page.goto(`${server.url}/isa/`);
  await page.getByRole('option', { name: 'HIP (no compiler on this host)' }).waitFor({ state: 'attached' });
  await compile().and(page.locator(':enabled')).waitFor();
  await page.getByLabel('Language').selectOption('hip');
  await page.getByText(/This host has no clang with an AMD GPU target\. Install clang 22/).waitFor();
  assert.ok(await compile().isDisabled());
  await page.getByLabel('Language').selectOption('triton');
  assert.ok(await compile().isEnabled());
  await page.unroute('**/api/v1/capabilities');
});

test('the recorded example is complete without JavaScript', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const quiet = await context.newPage();
  await quiet.goto(`${server.url}/isa/`);
  const main = await quiet.locator('main').innerText();
  assert.match(main, /Recorded on \d{4}-\d\d-\d\d by python -m hipward_kernels\.compile\.record/);
  for (const arch of ['gfx90a', 'gfx942', 'gfx950']) assert.ok(main.includes(`${arch} rmsnorm_kernel`), main);
  const listing = await quiet.locator('.listing').first().innerText();
  assert.match(listing, /\d+ {2}x = tl\.load\(x_ptr[\s\S]*(global|buffer)_load_dwordx4/);
  // Each instruction is below its source line, not beside it.
  const beside = await quiet.locator('.listing').first().evaluate((listing) =>
    [...listing.querySelectorAll('.source + span')].filter(
      (span) => span.getBoundingClientRect().top < span.previousElementSibling.getBoundingClientRect().bottom,
    ).length,
  );
  assert.equal(beside, 0);
  await context.close();
});

test('a kernel that is pasted is compiled for the targets that are chosen', async () => {
  await page.goto(`${server.url}/isa/`);
  await paste(page, triton);
  await page.getByLabel('Arguments').fill('x_ptr=*fp32, BLOCK=1024');
  await page.getByLabel('gfx90a').uncheck();
  await compile().click();
  await result().locator('table.isa').getByText('double').first().waitFor(patience);
  const table = await result().locator('table.isa').innerText();
  assert.match(table, /gfx942 double[\s\S]*gfx950 double/);
  assert.ok(!table.includes('gfx90a'));
  assert.match(table, /global load of 16 B/);
  await result().getByText(/^Compiled for these arguments/).click();
  const assumed = await result().locator('ul').innerText();
  assert.match(assumed, /x_ptr: \*fp32 as asked[\s\S]*n: i32:16 a guess[\s\S]*BLOCK = 1024 as asked/);
  assert.match(await result().locator('.listing').first().innerText(), /8 {2}x = tl\.load/);
});

test('the arguments follow the source, and what was typed stays while the kernel has it', async () => {
  await page.goto(`${server.url}/isa/`);
  const field = page.getByLabel('Arguments');
  assert.match(await field.inputValue(), /BLOCK=4096/);
  await paste(page, triton);
  assert.equal(await field.inputValue(), 'BLOCK=4096, x_ptr=*bf16');
  await field.fill('x_ptr=*fp32, BLOCK=512');
  await paste(page, triton.replaceAll('BLOCK', 'SIZE'));
  assert.equal(await field.inputValue(), 'x_ptr=*fp32, SIZE=1024');
  await compile().click();
  await result().locator('table.isa').getByText('double').first().waitFor(patience);
  assert.deepEqual(errors, []);
});

test('HIP is compiled too, or the page names the missing compiler', async () => {
  await page.goto(`${server.url}/isa/`);
  await compile().and(page.locator(':enabled')).waitFor();
  await page.getByLabel('Language').selectOption('hip');
  // Only Triton needs the types of the arguments.
  await page.getByLabel('Arguments').waitFor({ state: 'hidden' });
  await paste(page, '#include <hip/hip_runtime.h>\n\n__global__ void twice(float4* x) {\n  x[threadIdx.x].x *= 2;\n}\n');
  const { hip_compiler: compiler } = await (await fetch(`${server.url}/api/v1/capabilities`)).json();
  if (compiler) {
    assert.match(compiler, /^clang \d+\./);
    await compile().click();
    await page.locator('main').getByText(/^Compiled with clang/).first().waitFor(patience);
  } else {
    await page.getByText(/This host has no clang/).waitFor();
  }
});

test('an error of the compiler is shown, and the next source compiles', async () => {
  await page.goto(`${server.url}/isa/`);
  const trouble = page.getByRole('alert').filter({ hasText: /./ });
  const refused = async (source, says, cleared = false) => {
    await paste(page, source);
    if (cleared) await page.getByLabel('Arguments').fill('');
    await compile().click();
    await page.locator('main').getByText(says).first().waitFor(patience);
    await compile().and(page.locator(':enabled')).waitFor();
  };
  await refused('def broken(:\n', /This is not Python/);
  assert.match(await trouble.first().innerText(), /Line 1/);
  await refused('import triton\n', /no function under triton\.jit/);
  await refused(triton, /BLOCK is a tl\.constexpr without a default/, true);
  await page.getByLabel('Arguments').fill('BLOCK=1024');
  await refused(triton.replace('x * 2', 'tl.nothing(x)'), /nothing/);
  await refused(`import os\nos._exit(3)\n${triton}`, /ended without an answer/);
  await refused(triton, /^Compiled with Triton/);
  assert.equal(await trouble.count(), 0, 'the trouble is over');
  assert.deepEqual(errors, []);
});

test('the playground hands a Triton kernel over', async () => {
  await page.goto(`${server.url}/playground/`);
  await paste(page, triton.replace('BLOCK: tl.constexpr', 'BLOCK: tl.constexpr = 256'));
  await page.getByRole('button', { name: 'See the machine code' }).click();
  await page.waitForURL(/\/isa\/#code=/);
  await showEditor(page);
  await editor(page).filter({ hasText: 'def double' }).waitFor();
  assert.match(await code(page), /def double/);
  assert.equal(await page.getByLabel('Arguments').inputValue(), 'x_ptr=*bf16');
  assert.equal(await result().innerText(), '', 'the recorded answer is of another kernel');
  await compile().click();
  await result().locator('table.isa').getByText('gfx942').waitFor(patience);
});
