// Every type of page: complete without JavaScript, accessible in both themes, and not wider than a phone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { require, startBrowser, startServer } from '../support/server.mjs';

const pages = [
  '/',
  '/learn/',
  '/learn/port/device-abstraction/',
  '/learn/port/vendor-libraries/',
  '/learn/baseline/precision-before-speed/',
  '/learn/baseline/honest-timing/',
  '/learn/optimize/fused-rmsnorm/',
  '/playground/',
  '/benchmark/',
  '/isa/',
  '/ops/',
  '/ops/rmsnorm/',
  '/ops/linear/',
  '/models/',
  '/rules/',
  '/rules/pynvml/',
  '/reference/',
  '/reference/hardware/',
  '/no/such/page/',
];

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

test('a lesson is complete with JavaScript off', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${server.url}/learn/port/watch-the-gpu/`);
  assert.equal(await page.locator('h1').count(), 1);
  assert.match(await page.locator('main').innerText(), /amdsmi/);
  assert.ok((await page.locator('main pre code').count()) >= 3, 'code is shown');
  assert.ok((await page.locator('main pre code span[class]').count()) > 20, 'code is highlighted');
  await page.getByRole('link', { name: /next/i }).first().click();
  assert.match(page.url(), /\/learn\/port\/vendor-libraries\/$/);
  // A question can be answered without a script.
  const answer = page.locator('main details').first();
  await answer.locator('summary').first().click();
  assert.equal(await answer.getAttribute('open'), '');
  await context.close();
});

test('every main page has its text with JavaScript off', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  const titles = new Set();
  for (const path of pages) {
    const answer = await page.goto(server.url + path);
    assert.equal(answer.status(), path.startsWith('/no/') ? 404 : 200, path);
    for (const landmark of ['header', 'main', 'footer']) {
      assert.ok((await page.locator(landmark).count()) >= 1, `${path} has no ${landmark}`);
    }
    assert.ok((await page.locator('main').innerText()).length > 100, `${path} is empty`);
    titles.add(await page.title());
  }
  assert.equal(titles.size, pages.length, 'every page has a title of its own');
  await page.goto(`${server.url}/playground/`);
  assert.ok(await page.locator('textarea').isVisible(), 'the textarea is there without a script');
  await context.close();
});

for (const colorScheme of ['light', 'dark']) {
  test(`axe finds nothing serious, ${colorScheme}`, async () => {
    const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    const context = await browser.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    const found = [];
    for (const path of pages) {
      await page.goto(server.url + path, { waitUntil: 'networkidle' });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      for (const { id, impact, nodes } of violations) {
        if (['serious', 'critical'].includes(impact)) {
          found.push(`${path} ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`);
        }
      }
    }
    assert.deepEqual(found, []);
    await context.close();
  });
}

test('no page scrolls sideways on a phone', async () => {
  const context = await browser.newContext({ viewport: { width: 320, height: 640 } });
  const page = await context.newPage();
  const wide = [];
  for (const path of pages) {
    await page.goto(server.url + path, { waitUntil: 'networkidle' });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 320) wide.push(`${path} is ${width} px wide`);
  }
  assert.deepEqual(wide, []);
  await context.close();
});

test('the theme is set before the first paint, and is remembered', async () => {
  const context = await browser.newContext({ colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await page.getByRole('button', { name: /theme/i }).click();
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  for (let clicks = 0; clicks < 2 && !isDark(await background()); clicks++) {
    await page.getByRole('button', { name: /theme/i }).click();
  }
  assert.ok(isDark(await background()), 'the toggle reaches dark');
  // The document's scripts are delayed, so the first paint depends on the inline script alone.
  await page.route('**/*.js', (route) => route.abort());
  await page.goto(`${server.url}/rules/`, { waitUntil: 'domcontentloaded' });
  assert.ok(isDark(await background()), 'a new page starts dark');
  await context.close();
});

test('a page that was chosen dark is printed light', async () => {
  const page = await browser.newPage({ colorScheme: 'dark' });
  await page.goto(`${server.url}/rules/pynvml/`);
  await page.evaluate(() => (document.documentElement.dataset.theme = 'dark'));
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.ok(isDark(await page.evaluate(() => getComputedStyle(document.body).color)));
  await page.close();
});

test('a code block can be copied', async () => {
  const context = await browser.newContext();
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
  const page = await context.newPage();
  await page.goto(`${server.url}/learn/port/device-abstraction/`);
  const copy = page.getByRole('button', { name: /^copy/i }).first();
  await copy.click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.length > 20);
  assert.ok((await page.locator('main').innerText()).includes(copied.trim().split('\n')[0]));
  await context.close();
});

test('the keyboard reaches the content at once', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/learn/port/device-abstraction/`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const inside = await page.evaluate(() => location.hash && document.querySelector(location.hash)?.closest('main, body') !== null);
  assert.ok(inside, 'the first Tab is a link that skips to the content');
  await page.close();
});

function isDark(color) {
  const [red, green, blue] = color.match(/[\d.]+/g).map(Number);
  return red + green + blue < 200;
}
