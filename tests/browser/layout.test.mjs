// Layout: the home page, the course, contents beside the text, op pages, phones and print.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startBrowser, startServer } from '../support/server.mjs';

const SOURCE = 'https://git.example/hipward';
const FEEDBACK = 'https://git.example/hipward/issues';

let server;
let browser;
before(async () => {
  server = await startServer(['--source-url', SOURCE, '--feedback-url', FEEDBACK]);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function open(path, options) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  await page.goto(server.url + path, { waitUntil: 'networkidle' });
  return page;
}

const phone = { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true };

test('the home page states its readers, a measured result, a port before and after, and the ways in', async () => {
  const page = await open('/');
  const isInView = (locator) => locator.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight);
  const result = page.getByRole('region', { name: 'A training step, one optimization at a time' });
  for (const part of [page.locator('h1'), page.getByText(/^For engineers who port PyTorch/), result]) assert.ok(await isInView(part));
  assert.match(await result.innerText(), /\d ms\s+1\.00×[\s\S]*\d ms\s+\d\.\d\d×[\s\S]*on one NVIDIA/);
  const diff = await page.locator('main .diff').innerText();
  assert.match(diff, /torch\.version\.cuda is None:[\s\S]*torch\.version\.cuda is None and torch\.version\.hip is None/);
  assert.deepEqual(await page.locator('.doors').first().getByRole('heading').allInnerTexts(), ['Learn', 'Check', 'Prove', 'Host it']);
  for (const path of ['Newcomer', 'Kernel engineer', 'Team lead']) await page.getByRole('link', { name: path }).waitFor();
  const footer = page.locator('footer');
  assert.match(await footer.innerText(), /Hipward \d+\.\d+\.\d+, open source under MIT or Apache-2\.0/);
  assert.equal(await footer.getByRole('link', { name: 'Source' }).getAttribute('href'), SOURCE);
  assert.equal(await footer.getByRole('link', { name: 'Questions and corrections' }).getAttribute('href'), FEEDBACK);
  await page.context().close();
});

test('the footer of a short page is at the bottom of the window', async () => {
  const page = await open('/no/such/page/');
  assert.equal(await page.locator('footer').evaluate((footer) => Math.round(footer.getBoundingClientRect().bottom)), 900);
  await page.context().close();
});

test('the course numbers its lessons by part', async () => {
  const page = await open('/learn/');
  const numbers = await page.locator('li[data-lesson] > .ordinal').allInnerTexts();
  for (const number of ['0.1', '1.1', '1.2', '2.1']) assert.ok(numbers.includes(number), numbers.join());
  assert.equal(new Set(numbers).size, numbers.length, 'no number is used twice');
  await page.context().close();
});

for (const path of ['/learn/port/device-abstraction/', '/rules/pynvml/', '/ops/rmsnorm/', '/models/']) {
  test(`the contents of ${path} stay beside the text`, async () => {
    const page = await open(path);
    const contents = page.getByRole('navigation', { name: 'On this page' });
    const box = () => contents.evaluate((element) => element.getBoundingClientRect().toJSON());
    const heading = await page.locator('main h2').first().boundingBox();
    assert.ok((await box()).left > heading.x + 500, 'at the right');
    await page.evaluate(() => scrollTo({ top: 1200, behavior: 'instant' }));
    const { top, bottom } = await box();
    assert.ok(top > 0 && bottom < 900, `${top} to ${bottom}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1440);
    await page.context().close();
  });
}

test('the solution of an exercise is folded, and its discussion is below it', async () => {
  const page = await open('/learn/port/device-abstraction/');
  const solution = page.locator('main summary').filter({ hasText: 'One solution' });
  assert.equal(await solution.locator('..').getAttribute('open'), null);
  const answer = page.locator('main .diff').filter({ hasText: 'torch.cuda.is_bf16_supported' });
  assert.ok((await answer.boundingBox()).y > (await solution.boundingBox()).y);
  await page.context().close();
});

test('an op page states how to install and call it and whether it is faster; the rest is folded', async () => {
  const page = await open('/ops/rmsnorm/');
  const text = await page.locator('main').innerText();
  assert.match(text, /pip install[\s\S]*from hipward_kernels\.ops import rmsnorm[\s\S]*Is it faster\?[\s\S]*at or below that of the fastest other implementation at \d+ of \d+ shapes/);
  const measured = page.locator('main table').first();
  assert.match(await measured.innerText(), /Shape[\s\S]*Fastest other[\s\S]*Outcome/);
  assert.ok(await page.locator('main table').nth(1).isHidden(), 'every measurement');
  assert.ok((await page.evaluate(() => document.documentElement.scrollHeight)) < 4000);
  await page.context().close();
});

test('the page of the models names its versions and plots them', async () => {
  const page = await open('/models/');
  const text = await page.locator('main').innerText();
  assert.match(text, /v1\s+eager PyTorch[\s\S]*v4\s+both, and a CUDA graph/);
  assert.match(text, /timed separately, without a graph, so they can add up to more than the step/);
  assert.match(text, /v2 without compile/);
  assert.ok((await page.locator('main table:visible').count()) < (await page.locator('main table').count()) / 2);
  await page.context().close();
});

test('on a phone the header is one row with a menu, and what is tapped is 44 px high', async () => {
  const page = await open('/learn/port/device-abstraction/', phone);
  assert.ok((await page.locator('header').boundingBox()).height < 70);
  await page.getByRole('button', { name: 'Menu' }).click();
  const links = page.locator('.site-menu').getByRole('link');
  assert.ok((await links.count()) >= 7);
  for (const link of await links.all()) assert.ok((await link.boundingBox()).height >= 44);

  const small = [];
  for (const path of ['/learn/', '/learn/port/device-abstraction/', '/learn/port/lanes/', '/playground/', '/rules/', '/benchmark/', '/isa/', '/jobs/']) {
    await page.goto(server.url + path, { waitUntil: 'networkidle' });
    const found = await page.evaluate(() => {
      const tapped = 'button, .button, select, summary, label:has(input[type=checkbox], input[type=radio]), input:not([type=checkbox], [type=radio], [type=file])';
      const visible = [...document.querySelectorAll(tapped)].filter((element) => element.checkVisibility() && !element.closest('[popover]'));
      const low = visible.filter((element) => element.getBoundingClientRect().height < 44);
      return low.map((element) => `${element.tagName} ${element.textContent.trim().slice(0, 30)} ${element.getBoundingClientRect().height}`);
    });
    small.push(...found.map((what) => `${path} ${what}`));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, path);
  }
  assert.deepEqual(small, []);
  await page.context().close();
});

test('a diff is printed with its colours', async () => {
  const page = await open('/');
  await page.emulateMedia({ media: 'print' });
  for (const row of ['.added', '.removed']) {
    const style = await page.locator(`main .diff ${row}`).first().evaluate((element) => {
      const { printColorAdjust, backgroundColor } = getComputedStyle(element);
      return { printColorAdjust, backgroundColor };
    });
    assert.equal(style.printColorAdjust, 'exact');
    assert.notEqual(style.backgroundColor, 'rgba(0, 0, 0, 0)');
  }
  await page.context().close();
});
