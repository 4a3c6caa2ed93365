// The search: by key and by button, with links to headings, on every type of page; and an index that does not load.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { code, paste } from '../support/editor.mjs';
import { startBrowser, startServer } from '../support/server.mjs';

let server;
let browser;
let page;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  page = await browser.newPage();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const dialog = () => page.getByRole('dialog', { name: 'Search' });
const answers = () => dialog().getByRole('listitem');

test('/ opens the search, words find pages, and Enter goes to the best one', async () => {
  await page.goto(`${server.url}/learn/port/device-abstraction/`);
  // The index is loaded before something is typed.
  const index = page.waitForResponse('**/search.json');
  await page.keyboard.press('/');
  await dialog().waitFor();
  await index;
  await page.keyboard.type('pynvml');
  await answers().first().waitFor();
  assert.match(await answers().first().innerText(), /^pynvml \(HW101\)/);
  // Grouped by kind, the kind of the best result first.
  const kinds = await dialog().getByRole('heading').allInnerTexts();
  assert.equal(kinds[0], 'Rules');
  assert.ok(kinds.length > 1 && new Set(kinds).size === kinds.length, kinds.join());
  assert.match(await dialog().getByRole('status').innerText(), /^\d+ pages\.$/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/rules\/pynvml\//);
});

test('a result leads to the heading above the matching words', async () => {
  await page.goto(`${server.url}/`);
  await page.getByRole('button', { name: 'Search' }).click();
  await dialog().getByRole('searchbox').fill('infinity cache flush');
  await answers().filter({ hasText: 'Cold, hot' }).first().waitFor();
  await page.keyboard.press('ArrowDown');
  const address = await page.evaluate(() => document.activeElement.getAttribute('href'));
  assert.equal(address, '/learn/baseline/cold-hot-and-how-sure/#cold-and-hot');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${address}`);
  assert.ok(await page.locator('#cold-and-hot').isVisible());
});

test('in the editor / is a character; Escape closes the search and gives the focus back', async () => {
  await page.goto(`${server.url}/benchmark/`);
  await paste(page, '');
  await page.keyboard.type('a / b');
  assert.equal(await code(page), 'a / b');
  const button = page.getByRole('button', { name: 'Search' });
  await button.focus();
  await page.keyboard.press('Enter');
  await dialog().waitFor();
  await dialog().getByRole('searchbox').fill('no page has <b>this</b>');
  await dialog().getByText('Nothing has all of these words.').waitFor();
  await page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'hidden' });
  assert.ok(await button.evaluate((button) => button === document.activeElement));
});

test('an index that does not load is reported, and loaded again at the next query', async () => {
  await page.goto(`${server.url}/rules/`);
  await page.route('**/search.json', (route) => route.abort());
  await page.keyboard.press('/');
  await dialog().getByRole('searchbox').fill('apex');
  await dialog().getByText(/did not load/).waitFor();
  await page.unroute('**/search.json');
  await dialog().getByRole('searchbox').fill('apex ');
  await answers().first().waitFor();
});
