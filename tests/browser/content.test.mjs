// `hipward serve --content`: an open page reloads when its folder changes, and shows when its content was loaded.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser, startServer } from '../support/server.mjs';

let folder;
let server;
let browser;

function write(path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const lesson = (markdown) => `+++\ntitle = "T"\nsummary = "S"\nminutes = 3\ngoal = "G"\n+++\n${markdown}\n`;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-content-'));
  write('01-port/part.toml', 'title = "Port"\nsummary = "P"\n');
  write('01-port/01-first/lesson.md', lesson('Before.'));
  server = await startServer(['--content', folder]);
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('open page reloads on save, shows the errors of its content, and recovers', async () => {
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.text().includes('Content Security Policy') && errors.push(message.text()));
  await page.goto(`${server.url}/learn/port/first/`);
  await page.getByText('Before.', { exact: true }).waitFor();
  await page.getByRole('status').getByText(/^Content loaded at \d/).waitFor();

  write('01-port/01-first/lesson.md', lesson('```python file=gone.py\n```'));
  await page.getByRole('heading', { name: '1 error in the content of this page' }).waitFor();
  await page.getByText('01-port/01-first/lesson.md:7', { exact: true }).waitFor();

  write('01-port/01-first/lesson.md', lesson('Before.').replace('minutes = 3', 'minutes = "ten"'));
  await page.getByText(/write a line such as minutes = 10/).waitFor();
  assert.match(await page.locator('.content-errors').innerText(), /lesson\.md:4 /);
  // All mistakes of a page are shown at once.
  const wrong = lesson('```python file=gone.py\n```').replace('minutes = 3', 'minutes = "ten"').replace(/^goal = .*$/m, 'colour = 1');
  write('01-port/01-first/lesson.md', wrong);
  await page.getByRole('heading', { name: '4 errors in the content of this page' }).waitFor();
  await page.getByText(/write a line such as goal = /).waitFor();

  // All other pages are served.
  assert.equal((await fetch(`${server.url}/rules/`)).status, 200);

  write('01-port/01-first/lesson.md', lesson('Corrected.'));
  await page.getByText('Corrected.', { exact: true }).waitFor();
  await page.getByRole('status').getByText(/^Content loaded at \d/).waitFor();
  assert.deepEqual(errors, []);
});
