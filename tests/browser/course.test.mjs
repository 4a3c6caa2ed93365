// Progress in the course, and the list of rules.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startBrowser, startServer } from '../support/server.mjs';

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

test('a lesson counts as read at its end, and the course continues with the next', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/learn/`);
  const lessons = page.locator('main li[data-lesson]');
  const total = await lessons.count();
  assert.ok(total >= 7);
  assert.ok(await page.locator('[data-progress]').isHidden(), 'nothing was read yet');

  await lessons.first().locator('a').first().click();
  await page.waitForSelector('article[data-lesson]');
  assert.equal(await page.locator('.sidebar li.read').count(), 0);
  await page.locator('.neighbours').scrollIntoViewIfNeeded();
  await page.waitForSelector('.sidebar li.read');

  await page.goto(`${server.url}/learn/`);
  const summary = page.locator('[data-progress]');
  assert.match(await summary.innerText(), new RegExp(`^1 of ${total} lessons read`));
  const second = await lessons.nth(1).locator('a').first().getAttribute('href');
  assert.equal(await summary.locator('a').getAttribute('href'), new URL(second, server.url).href);
  assert.match(await lessons.first().innerText(), /✓/);

  await summary.getByRole('button', { name: 'Reset' }).click();
  await page.reload();
  assert.ok(await summary.isHidden());
  assert.equal(await page.locator('li.read').count(), 0);
  await page.close();
});

test('the breadcrumbs of a lesson lead back to its part', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/learn/baseline/honest-timing/`);
  await page.locator('.breadcrumbs a').nth(1).click();
  await page.waitForURL(`${server.url}/learn/#baseline`);
  await page.close();
});

test('each family of rules has one table, and the filter narrows them', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/rules/`);
  const titles = await page.locator('section[data-rules] h2').allInnerTexts();
  assert.equal(new Set(titles).size, titles.length, titles.join(', '));
  const rows = page.locator('section[data-rules] tbody tr:visible');
  const all = await rows.count();
  await page.getByLabel('Show rules with').fill('flash attn');
  await page.waitForFunction(() => document.querySelector('[data-rule-count]').textContent !== '');
  const found = await rows.allInnerTexts();
  assert.ok(found.length >= 1 && found.length < all / 2, `${found.length} of ${all}`);
  assert.ok(found.every((text) => /flash/i.test(text) && /attn/i.test(text)), found.join('\n'));
  assert.equal(await page.locator('[data-rule-count]').innerText(), `${found.length} of ${all} rules`);
  await page.close();
});

test('a rule leads to the rules before and after it', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/rules/`);
  const names = await page.locator('section[data-rules] tbody th').allInnerTexts();
  await page.goto(`${server.url}/rules/pynvml/`);
  const next = page.locator('.neighbours a[rel=next]');
  const name = (await next.innerText()).split('\n').at(-1).trim();
  assert.ok(names.includes(name), name);
  await next.click();
  await page.locator('.neighbours a[rel=prev]').click();
  assert.match(page.url(), /\/rules\/pynvml\/$/);
  await page.close();
});
