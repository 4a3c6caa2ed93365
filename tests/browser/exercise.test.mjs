// The exercise of a real lesson: checked on the runner, remembered in the browser, and without a runner.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, require, root, startBrowser, startServer } from '../support/server.mjs';

const folder = join(root, 'content/02-baseline/02-honest-timing/stopwatch');
const read = (name) => readFileSync(join(folder, name), 'utf8');
const LESSON = 'learn/baseline/honest-timing/';
const ADDRESS = 'baseline/honest-timing/stopwatch';
const PATIENCE = { timeout: 120_000 };
// A wrong answer whose message is shown.
const wrong = readdirSync(join(folder, 'wrong'))
  .map((name) => read(`wrong/${name}`))
  .find((text) => text.includes('# message: '));
const message = /# message: (.*)/.exec(wrong)[1].split('`')[0].slice(0, 20);

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

async function open(context, url = server.url) {
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${url}/${LESSON}`);
  const exercise = page.locator(`[data-exercise="${ADDRESS}"]`);
  return { page, exercise, area: exercise.locator('textarea'), result: exercise.locator('[data-result]'), errors };
}

test('an answer is checked, and its failing cases have numbers and a likely cause', async () => {
  const context = await browser.newContext({ bypassCSP: true });
  const { page, exercise, area, result, errors } = await open(context);
  const check = exercise.getByRole('button', { name: 'Check' });
  await page.waitForFunction((button) => !button.disabled, await check.elementHandle());
  assert.ok(await exercise.locator('[data-without-runner]').isHidden());

  await check.click();
  await exercise.getByText('Not yet.').waitFor(PATIENCE);
  assert.match(await result.innerText(), /Not filled in yet: /);
  assert.ok((await result.locator('.case-list .failed').count()) >= 1);
  assert.equal(await result.getAttribute('role'), 'status');

  await area.fill(wrong);
  await check.click();
  await result.getByText('A likely cause:').waitFor(PATIENCE);
  assert.ok((await result.innerText()).includes(message), await result.innerText());

  await area.fill('def broken(:\n');
  await area.press('Control+Enter');
  await exercise.getByText('The program does not load.').waitFor(PATIENCE);
  await exercise.getByRole('button', { name: 'Line 1' }).click();
  assert.equal(await area.evaluate((element) => element.value.slice(element.selectionStart, element.selectionEnd)), 'def broken(:');

  await area.fill(read('solution.py'));
  await check.click();
  await exercise.getByText('Solved. Every case passes.').waitFor(PATIENCE);
  assert.match(await exercise.locator('.exercise-state').innerText(), /Solved$/);
  assert.deepEqual(errors, []);

  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const violations = await page.evaluate(async () => (await globalThis.axe.run('.write')).violations.map(({ id }) => id));
  assert.deepEqual(violations, []);

  // The list of lessons shows it, and the state moves to another browser as a file.
  await page.goto(`${server.url}/learn/`);
  assert.match(await page.locator('[data-progress]').innerText(), /1 exercise solved/);
  assert.match(await page.locator('li[data-lesson="baseline/honest-timing"]').last().innerText(), /1 exercise solved/);
  await page.getByText('Move your progress').click();
  const downloaded = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const file = await (await downloaded).path();
  const other = await browser.newContext();
  const fresh = await other.newPage();
  await fresh.goto(`${server.url}/learn/`);
  assert.ok(await fresh.locator('[data-progress]').isHidden());
  await fresh.getByText('Move your progress').click();
  await fresh.getByLabel('Import').setInputFiles(file);
  await fresh.getByText('Imported').waitFor();
  const moved = await open(other);
  assert.equal(await moved.area.inputValue(), read('solution.py'));
  await other.close();
  await context.close();
});

test('the program is remembered, reset asks, and an earlier judge is named', async () => {
  const context = await browser.newContext();
  const { page, exercise, area } = await open(context);
  await exercise.getByRole('button', { name: 'Reset' }).waitFor();
  const start = await area.inputValue();
  await area.fill(`${start}# mine\n`);
  await page.reload();
  await page.waitForFunction(() => document.querySelector('.write textarea').value.includes('# mine'));
  await page.close();
  const blank = await context.newPage();
  await blank.goto(`${server.url}/learn/`);
  await blank.evaluate((address) => {
    localStorage.setItem('hipward.exercises', JSON.stringify({ [address]: { text: '# other\n', solved: true, judge: 'older' } }));
  }, ADDRESS);
  const again = await open(context);
  await again.exercise.getByText('Solved with an earlier version').waitFor();
  assert.equal(await again.area.inputValue(), '# other\n');
  again.page.on('dialog', (dialog) => dialog.accept());
  await again.exercise.getByRole('button', { name: 'Reset' }).click();
  assert.equal(await again.area.inputValue(), start);
  assert.equal(await again.page.evaluate(() => localStorage.getItem('hipward.exercises')), '{}');
  await context.close();
});

test('Tab indents, Enter continues the indentation, and Escape gives Tab back', async () => {
  const context = await browser.newContext();
  const { page, exercise, area } = await open(context);
  await exercise.getByRole('button', { name: 'Reset' }).waitFor();
  await area.fill('def f():');
  await area.press('End');
  await area.press('Enter');
  await page.keyboard.type('x = 1');
  assert.equal(await area.inputValue(), 'def f():\n    x = 1');
  await area.press('Control+A');
  await area.press('Tab');
  assert.equal(await area.inputValue(), '    def f():\n        x = 1');
  await area.press('Shift+Tab');
  assert.equal(await area.inputValue(), 'def f():\n    x = 1');
  await area.press('Escape');
  await area.press('Tab');
  assert.ok(!(await area.evaluate((element) => document.activeElement === element)));
  await context.close();
});

test('without a runner the block states the command, also on a narrow screen', async () => {
  const dist = mkdtempSync(join(tmpdir(), 'hipward-dist-'));
  execFileSync(hipward, ['build', '--out', dist]);
  const types = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' };
  const files = createServer((request, response) => {
    let path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    if (path.endsWith('/')) path += 'index.html';
    try {
      const body = readFileSync(join(dist, path));
      response.writeHead(200, { 'content-type': types[/\.\w+$/.exec(path)?.[0]] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => files.listen(0, '127.0.0.1', resolve));
  const context = await browser.newContext({ viewport: { width: 320, height: 640 } });
  const { page, exercise } = await open(context, `http://127.0.0.1:${files.address().port}`);
  await exercise.getByText('This site has no runner.').waitFor();
  assert.ok(await exercise.getByText(`hipward try ${ADDRESS} start.py`).isVisible());
  assert.ok(await exercise.getByRole('button', { name: 'Check' }).isHidden());
  const downloaded = page.waitForEvent('download');
  await exercise.getByRole('button', { name: 'Download' }).click();
  assert.equal((await downloaded).suggestedFilename(), 'start.py');
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(overflow, 0);
  await context.close();
  files.close();
  rmSync(dist, { recursive: true, force: true });
});
