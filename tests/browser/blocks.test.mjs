// The blocks of a lesson in a browser: figures, predictions, exercises and the filter by reading path.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser, startServer } from '../support/server.mjs';

const lesson = `
\`\`\`figure
file = "lanes.svg"
title = "The lanes"
conclusion = "Lane 0 reads first."
caption = "Each lane reads 16 bytes."
\`\`\`

\`\`\`predict
question = "How many bytes?"
answer = 12.5
unit = "MB"
why = "Count them."
\`\`\`

\`\`\`predict
question = "Is it fast?"
[[option]]
text = "No"
why = "It is."
[[option]]
text = "Yes"
correct = true
why = "Count."
\`\`\`

\`\`\`quiz
question = "Which part is slow?"
[[option]]
text = "The clock"
why = "It is the clock."
[[option]]
text = "The mask"
correct = true
why = "It is the mask."
\`\`\`

\`\`\`write
dir = "mask"
title = "Write the mask"
task = "Fill the hole."
minutes = 5
[[hint]]
text = "A question?"
[[hint]]
text = "The idea."
[[hint]]
text = "The line."
\`\`\`

The formula $x^2$ needs no script.
`;
const front = (paths) =>
  `+++\ntitle = "Lanes ${paths}"\nsummary = "S"\nminutes = 3\ngoal = "G"\npaths = [${paths.map((path) => `"${path}"`)}]\n+++\n`;
const files = {
  '01-port/part.toml': 'title = "Port"\nsummary = "P"\n',
  '01-port/01-lanes/lesson.md': front(['newcomer']) + lesson,
  '01-port/01-lanes/lanes.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 90"><rect class="a" width="90" height="40"/>' +
    '<text class="on mid" x="45" y="24">Lane 0</text><line class="line-b arrow" x1="90" y1="20" x2="200" y2="20"/></svg>',
  '01-port/01-lanes/mask/start.py': 'def f(n):\n    # hole: mask\n    mask = ...\n    # end: mask\n    return mask\n',
  '01-port/01-lanes/mask/solution.py': 'def f(n):\n    mask = 0 < n\n    return mask\n',
  '01-port/01-lanes/mask/judge.py': '"""Judge."""\n\n\ndef case_tail(answer, random):\n    """A short row."""\n',
  '07-how-to/part.toml': 'title = "Guides"\nsummary = "P"\nkind = "how-to"\n',
  '07-how-to/01-install/lesson.md': front(['team']),
};

const folder = mkdtempSync(join(tmpdir(), 'hipward-content-'));
let server;
let browser;
before(async () => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  server = await startServer(['--content', folder]);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const address = () => `${server.url}/learn/port/lanes/`;

test('a prediction shows its answer after the reader has committed to one', async () => {
  const page = await browser.newPage();
  await page.goto(address());
  const number = page.locator('[data-predict]').first();
  const answer = number.locator('[data-answer]');
  await answer.waitFor({ state: 'hidden' });
  await number.getByRole('button').click();
  assert.ok(await answer.isHidden(), 'an empty field is no answer');
  await number.locator('input').fill('about ten');
  await number.getByRole('button').click();
  assert.match(await number.locator('[data-verdict]').innerText(), /Enter a number/);
  await number.locator('input').fill('12,9');
  await number.getByRole('button').click();
  assert.match(await number.locator('[data-verdict]').innerText(), /is right/);
  assert.match(await answer.innerText(), /12.5 MB/);

  const choice = page.locator('[data-predict]').nth(1);
  await choice.getByLabel('No').check();
  await choice.getByRole('button').click();
  assert.match(await choice.locator('[data-verdict]').innerText(), /differs/);
  assert.ok(await choice.getByText('Count.').isVisible());
  await page.close();
});

test('screen readers find a question, an exercise and the path of the page by name', async () => {
  const page = await browser.newPage();
  await page.goto(address());
  for (const [role, name] of [
    ['group', 'How many bytes?'],
    ['group', 'Which part is slow?'],
    ['region', 'Exercise: Write the mask (5 min)'],
  ]) {
    assert.equal(await page.getByRole(role, { name, exact: true }).count(), 1, name);
  }
  const path = await page.getByRole('navigation', { name: 'Breadcrumbs' }).ariaSnapshot();
  assert.ok(!/^\s*- (text|listitem): "?\/\s*[A-Z]?/m.test(path), path);
  await page.close();
});

test('answers stay in the browser, and the course counts and exports them', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address());
  const [number, choice] = [page.locator('[data-predict]').first(), page.locator('[data-predict]').nth(1)];
  const option = page.locator('.quiz details').nth(1);
  await number.locator('input').fill('12.9');
  await number.getByRole('button').click();
  await choice.getByLabel('No').check();
  await choice.getByRole('button').click();
  // Stored in the same task as the click: the reader may leave the page at once.
  const answers = await option.locator('summary').evaluate((summary) => {
    summary.click();
    return Object.keys(JSON.parse(window.localStorage.getItem('hipward.answers')));
  });
  assert.equal(answers.length, 3);

  await page.reload();
  assert.match(await number.locator('[data-verdict]').innerText(), /is right/);
  assert.equal(await number.locator('input').inputValue(), '12.9');
  assert.match(await choice.locator('[data-verdict]').innerText(), /differs/);
  assert.ok(await choice.getByLabel('No').isChecked());
  assert.ok(await option.getByText('It is the mask.').isVisible());
  assert.ok(await page.getByText('It is the clock.').isHidden(), 'the other option was not opened');

  await page.goto(`${server.url}/learn/`);
  assert.match(await page.locator('[data-progress]').innerText(), /3 questions answered/);
  const download = page.waitForEvent('download');
  await page.getByText('Move your progress').click();
  await page.getByRole('button', { name: 'Export' }).click();
  const file = await (await download).path();
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.goto(address());
  assert.equal(await choice.locator('[data-verdict]').innerText(), '');
  await page.goto(`${server.url}/learn/`);
  await page.getByText('Move your progress').click();
  await page.locator('input[type=file]').setInputFiles(file);
  await page.getByText('3 questions answered').first().waitFor();
  await context.close();
});

test('without JavaScript, answers, hints and the solution are folds', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(address());
  const number = page.locator('[data-predict]').first();
  assert.ok(await number.getByRole('button').isHidden());
  await number.locator('summary').click();
  assert.ok(await number.getByText('12.5 MB').isVisible());
  const exercise = page.locator('[data-exercise="port/lanes/mask"]');
  assert.ok(await exercise.getByText('Solution').isHidden());
  for (const step of ['Hint 1 of 3', 'Hint 2 of 3', 'Hint 3 of 3', 'Solution']) await exercise.getByText(step, { exact: true }).click();
  assert.ok(await exercise.getByText('mask = 0 < n').isVisible());
  assert.match(await exercise.locator('textarea').inputValue(), /^def f\(n\):\n {4}# hole: mask\n/);
  await context.close();
});

for (const scheme of ['light', 'dark']) {
  test(`a figure has colours with enough contrast in ${scheme} mode, and scrolls in its own box on a phone`, async () => {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 320, height: 600 } });
    const page = await context.newPage();
    await page.goto(address());
    const figure = page.getByRole('img', { name: 'The lanes' });
    assert.equal((await figure.boundingBox()).width, 720, 'letters keep their size');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(overflow, 0, 'the page itself does not scroll sideways');
    const [fill, letters, head] = await page.evaluate(() => {
      // Canvas turns any color notation into three bytes.
      const bytes = (color) => {
        const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
      };
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      return [bytes(style('.figure rect').fill), bytes(style('.figure text').fill), style('.figure line').markerEnd];
    });
    const luminance = (rgb) => {
      const [r, g, b] = rgb.map((byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [dark, light] = [luminance(fill), luminance(letters)].sort((a, b) => a - b);
    assert.ok((light + 0.05) / (dark + 0.05) >= 4.5, `${fill} and ${letters}`);
    assert.match(head, /figure-lanes-b/);
    await context.close();
  });
}

test('files download singly and as a zip', async () => {
  const start = await fetch(`${address()}files/mask/start.py`);
  assert.equal(start.headers.get('content-disposition'), 'attachment');
  assert.match(await start.text(), /# hole: mask/);
  const zip = await fetch(`${address()}files/lanes.zip`);
  assert.equal(zip.headers.get('content-type'), 'application/zip');
  assert.equal((await fetch(`${address()}files/mask/solution.py`)).status, 404);
});

test('the filter by reading path is stored', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/learn/`);
  const titles = () => page.locator('main li[data-lesson]:visible').count();
  assert.equal(await titles(), 2);
  await page.locator('[data-path-filter]').selectOption('team');
  assert.equal(await titles(), 1);
  assert.ok(await page.getByRole('heading', { name: 'Port' }).isHidden(), 'a part without pages is hidden');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('[data-path-filter]').value === 'team');
  assert.equal(await titles(), 1);
  await page.getByRole('link', { name: 'Team lead' }).click();
  await page.waitForURL(`${server.url}/learn/team/`);
  assert.equal(await titles(), 1);
  await page.close();
});
