// The playground as a user goes through it: paste, finding, fix, difference, benchmark, verdict; and errors.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as support from '../support/editor.mjs';
import { startBrowser, startServer } from '../support/server.mjs';

// Complete under the snippet contract, with one safe fix (the allocator variable) and one finding
// that is not safe to fix.
const snippet = `import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:256"

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(torch.relu(x))


class ModelNew(Model):
    pass


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]


compiled = torch.compile(Model(64), mode="reduce-overhead")
`;

const compiledOn = snippet.split('\n').findIndex((line) => line.startsWith('compiled')) + 1;

let server;
let browser;
let page;
const errors = [];

before(async () => {
  server = await startServer(['--time-cap', '1']);
  browser = await startBrowser();
  const context = await browser.newContext();
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
  page = await context.newPage();
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const editor = () => support.editor(page);
const findings = () => page.getByRole('list', { name: /findings/i }).getByRole('listitem');
const code = () => support.code(page);
const paste = (text) => support.paste(page, text);

async function open(path = '/playground/') {
  await page.goto('about:blank');
  await page.goto(server.url + path);
  await support.showEditor(page);
}

const summary = (pattern) => page.getByRole('status').filter({ hasText: pattern }).first().waitFor();

test('paste, find, fix, compare, benchmark, verdict', async () => {
  await open();
  await paste(snippet);
  await summary(/2 findings: /);
  assert.ok((await page.locator('.cm-lintRange').count()) >= 2, 'findings are marked in the editor');
  assert.equal(await findings().count(), 2);
  await findings().filter({ hasText: 'compile-mode' }).waitFor();

  // A finding leads to its place and to its rule.
  await findings().filter({ hasText: 'compile-mode' }).getByRole('button', { name: `Line ${compiledOn}`, exact: true }).click();
  assert.match(await page.evaluate(() => getSelection().toString()), /reduce-overhead/);
  const rule = findings().getByRole('link', { name: 'cuda-alloc-conf' });
  assert.equal(await rule.getAttribute('href'), '/rules/cuda-alloc-conf/');

  await page.getByRole('button', { name: /apply .*safe fix/i }).click();
  await summary(/1 finding/);
  assert.match(await code(), /"PYTORCH_ALLOC_CONF"/);
  const changes = page.getByRole('region', { name: /changes/i });
  assert.match(await changes.innerText(), /PYTORCH_CUDA_ALLOC_CONF[\s\S]*PYTORCH_ALLOC_CONF/);

  // The other fix may change behaviour, so its change is shown first.
  await findings().first().getByRole('button', { name: /default/i }).click();
  assert.match(await findings().first().getByRole('table').innerText(), /reduce-overhead[\s\S]*default/);
  assert.match(await code(), /mode="reduce-overhead"/);
  await findings().first().getByRole('button', { name: 'Apply', exact: true }).click();
  await summary(/no findings/i);
  assert.match(await code(), /mode="default"/);

  await page.getByRole('button', { name: 'Benchmark this' }).click();
  await page.waitForURL(/\/jobs\/[a-z0-9]+\/$/);
  await page.locator('[data-state="Done"], .badge:has-text("Done")').first().waitFor({ timeout: 180_000 });
  assert.match(await page.title(), /: Done · Hipward$/);
  const table = page.locator('table.variants');
  assert.match(await table.innerText(), /Eager[\s\S]*torch\.compile[\s\S]*ModelNew/);
  assert.match(await table.innerText(), /FASTER|SLOWER|SAME|AMBIGUOUS/);
  assert.match(await table.innerText(), /Triton needs a GPU|Not available here/i);
  assert.ok(await page.locator('svg').first().isVisible(), 'there is a plot');

  // The permalink as the server renders it, without JavaScript.
  const quiet = await browser.newContext({ javaScriptEnabled: false });
  const again = await quiet.newPage();
  await again.goto(page.url());
  assert.equal(await again.locator('table.variants').innerText(), await table.innerText());
  for (const report of [/json/i, /benchmark\.md/i]) {
    const address = await again.getByRole('link', { name: report }).first().getAttribute('href');
    const answer = await fetch(new URL(address, server.url));
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /torch\.compile|"compile"/);
  }
  await quiet.close();

  // On a phone: each number beside its name, then the variants it is based on, and the floor.
  await page.setViewportSize({ width: 320, height: 640 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
  await table.locator('summary').first().click();
  assert.match(await table.innerText(), /cosine 1\.0[\s\S]*Compile and warm-up[\s\S]*no sample dropped/);
  const floor = page.locator('details.floor');
  assert.match(await floor.innerText(), /ms is the floor: no variant can be faster/);
  await floor.locator('summary').click();
  assert.match(await floor.innerText(), /Read, each byte once[\s\S]*GB\/s, from/);
  assert.match(await page.getByRole('region', { name: 'Conditions' }).innerText(), /Device before the run[\s\S]*Host before the run[\s\S]*Host during the timing[\s\S]*Throttling/);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
  await page.setViewportSize({ width: 1280, height: 720 });
  assert.deepEqual(errors.splice(0), []);
});

const two = 'import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "a:1"\nx = 1\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "a:2"\nimport pynvml\n';

test('each fix shows its change in its card, marks the changed lines, and is undone with one key', async () => {
  await open();
  const long = `${two}${'y = 2\n'.repeat(200)}import apex\n`;
  await paste(long);
  await summary(/4 findings/);
  const second = () => findings().filter({ hasText: 'Line 4' });
  await second().getByText('Show the change').click();
  const diff = second().getByRole('table');
  assert.match(await diff.innerText(), /PYTORCH_CUDA_ALLOC_CONF"\] = "a:2"[\s\S]*PYTORCH_ALLOC_CONF"\] = "a:2"/);
  assert.equal(await code(), long, 'nothing is applied');
  await second().getByText('Show the change').click();
  assert.ok(!(await diff.isVisible()));

  // The change is out of sight.
  await findings().filter({ hasText: 'apex' }).getByRole('button', { name: /^Line/ }).click();
  await second().getByRole('button', { name: /PYTORCH_ALLOC_CONF/ }).first().click();
  await page.locator('.cm-changed').waitFor();
  assert.match(await page.locator('.cm-changed').innerText(), /PYTORCH_ALLOC_CONF"\] = "a:2"/);
  assert.equal(await page.locator('.cm-changed').count(), 1);
  await page.getByRole('status').filter({ hasText: /^Applied: / }).waitFor();
  await page.keyboard.press('Control+z');
  assert.equal(await code(), long, 'with the focus outside the editor');

  await findings().filter({ hasText: 'Line 4' }).waitFor();
  await second().getByRole('button', { name: /PYTORCH_ALLOC_CONF/ }).first().click();
  await page.locator('.cm-changed').waitFor();
  await editor().focus();
  await page.keyboard.press('Control+z');
  assert.equal(await code(), long, 'with the focus in the editor');
  assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);

  await findings().filter({ hasText: 'Line 4' }).waitFor();
  await page.getByRole('button', { name: /apply all safe/i }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await code(), long, 'with the button');
  assert.deepEqual(errors.splice(0), []);
});

test('the changed line is in view, also when the list of findings becomes shorter', async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await open();
  await paste(`import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "a:1"\nimport pynvml\nimport torch\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n${'y = 2\n'.repeat(100)}import apex\nimport cupy\nimport tensorrt\nimport flash_attn\n`);
  // The findings of the text before are gone.
  await findings().filter({ hasText: 'tensorrt' }).first().waitFor();
  const card = findings().filter({ hasText: 'cuda-alloc-conf' });
  await card.waitFor();
  for (const change of await findings().getByText('Show the change').all()) await change.click();
  await card.getByRole('button', { name: /PYTORCH_ALLOC_CONF/ }).first().click();
  await card.waitFor({ state: 'detached' });
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector('.cm-changed')?.getBoundingClientRect() ?? {};
    const header = document.querySelector('header').getBoundingClientRect().bottom;
    return top >= header && bottom <= innerHeight;
  });
  await page.setViewportSize({ width: 1280, height: 720 });
});

test('the plain editor selects the changed line, and undoes too', async () => {
  await open();
  await paste(two);
  await summary(/3 findings/);
  await page.getByLabel(/plain editor/i).check();
  const area = page.locator('textarea#code');
  await findings().filter({ hasText: 'Line 4' }).getByRole('button', { name: /PYTORCH_ALLOC_CONF/ }).first().click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  const selected = await area.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));
  assert.equal(selected, 'os.environ["PYTORCH_ALLOC_CONF"] = "a:2"');
  await page.keyboard.press('Control+z');
  assert.equal(await area.inputValue(), two);
  await page.getByLabel(/plain editor/i).uncheck();
  await support.showEditor(page);
});

test('errors come first, findings are filtered by family, and all fixes of a rule are applied at once', async () => {
  await open();
  const text = `${two}import apex\n`;
  await paste(text);
  const places = () => findings().getByRole('button', { name: /^Line \d+$/ }).allInnerTexts();
  await summary(/4 findings/);
  assert.deepEqual(await places(), ['Line 5', 'Line 6', 'Line 2', 'Line 4']);
  await page.getByLabel(/^Show/).selectOption({ label: 'All, by line' });
  assert.deepEqual(await places(), ['Line 2', 'Line 4', 'Line 5', 'Line 6']);
  await page.getByLabel(/^Show/).selectOption({ label: 'Environment' });
  assert.deepEqual(await places(), ['Line 2', 'Line 4']);
  await findings().first().getByText('Show the change').click();
  await findings().first().getByRole('button', { name: 'Apply all 2 of cuda-alloc-conf' }).click();
  await page.getByRole('status').filter({ hasText: 'Applied the fixes of cuda-alloc-conf.' }).waitFor();
  assert.equal(await code(), text.replaceAll('PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'));
  // No finding of the family is left, so the others are shown.
  await findings().filter({ hasText: 'pynvml' }).waitFor();
  assert.equal(await findings().count(), 2);
});

test('a fix hides no other finding, and a capability in a tuple is found', async () => {
  await open();
  const gates = 'major, minor = torch.cuda.get_device_capability()\nif (major, minor) >= (9, 0):\n    tile = 64\nprops = torch.cuda.get_device_properties(0)\nif (props.major, props.minor) >= (9, 0):\n    tile = 32\n';
  await paste(`import os\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\nimport torch\nif "A100" in torch.cuda.get_device_name(0):\n    tile = 128\n${gates}`);
  await findings().filter({ hasText: 'cuda-launch-blocking' }).waitFor();
  const others = async () => (await findings().allInnerTexts()).filter((text) => !text.includes('cuda-launch-blocking')).map((text) => text.split('\n')[0]);
  const before = await others();
  assert.equal(before.filter((text) => text.includes('capability-gate')).length, 2, before.join());
  assert.ok(before.some((text) => text.includes('device-name')), before.join());
  await findings().filter({ hasText: 'cuda-launch-blocking' }).getByRole('button', { name: /AMD_SERIALIZE_KERNEL/ }).click();
  await findings().filter({ hasText: 'cuda-launch-blocking' }).getByRole('button', { name: 'Apply', exact: true }).click();
  await findings().filter({ hasText: 'cuda-launch-blocking' }).waitFor({ state: 'detached' });
  assert.match(await code(), /AMD_SERIALIZE_KERNEL/);
  assert.deepEqual(await others(), before);
});

test('an import that stops the script is listed above a deprecated name', async () => {
  await open();
  await paste('import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "a:1"\nimport flash_attn_interface\nimport pynvml\n');
  await findings().filter({ hasText: 'pynvml' }).first().waitFor();
  const severities = await findings().locator('strong').allInnerTexts();
  const order = ['Error', 'Warning', 'Advice', 'Info'];
  const ranks = severities.map((text) => order.findIndex((name) => text.includes(name)));
  assert.deepEqual(ranks, ranks.toSorted());
});

test('code without findings, an empty editor and prose each state what was checked and what to do next', async () => {
  await open();
  const region = page.locator('[data-region=findings]');
  await paste('import torch\n\nx = torch.ones(3)\n');
  await region.getByText(/^Checked with \d\d rules for Python, for gfx942 \(MI.*ROCm \d.*PyTorch \d.*Python \d/).waitFor();
  await region.getByText(/benchmark the model below, or check the whole folder/).waitFor();
  await page.getByLabel(/^GPU/).selectOption('gfx90a');
  await region.getByText(/for gfx90a \(MI/).waitFor();
  for (const text of ['Dear all,\nthis is a letter; it is not a program!\nYours -> truly\n'.repeat(20), '<!doctype html>\n<p class="a">Not code; a page!</p>\n<img src="a.png">\n'.repeat(20)]) {
    await paste(text);
    await region.getByText(/not valid Python, so it was not analyzed/).waitFor();
    assert.equal(await page.locator('[data-region=summary]').innerText(), 'Nothing was checked.');
    assert.ok(!(await page.locator('main').innerText()).includes('No findings'));
    assert.equal(await page.getByText(/To be benchmarked/).count(), 0);
  }
  await paste(' ');
  await region.getByText('The editor is empty.').waitFor();
  await page.locator('[data-region=summary]').getByText('Nothing was checked.').waitFor();
});

test('a paste is analyzed at once', async () => {
  await open();
  const times = [];
  for (let round = 0; round < 8; round++) {
    const text = `import torch\nimport ${round % 2 ? 'pynvml' : 'apex'}\n`;
    times.push(
      await editor().evaluate(async (element, text) => {
        element.focus();
        document.execCommand('selectAll');
        const data = new DataTransfer();
        data.setData('text/plain', text);
        const list = document.querySelector('[data-region=findings]');
        const changed = new Promise((resolve) => {
          new MutationObserver((_, observer) => resolve(observer.disconnect())).observe(list, { childList: true, subtree: true, characterData: true });
        });
        const start = performance.now();
        element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
        await changed;
        return performance.now() - start;
      }, text),
    );
    await findings().getByText(round % 2 ? /pynvml/ : /apex/i).first().waitFor();
  }
  assert.ok(Math.min(...times) < 150, `${times.map(Math.round)} ms`);
});

test('a typed character is analyzed at once after a fast analysis', async () => {
  await open();
  await paste('import torch\nimport pynvm\n');
  await findings().getByText(/pynvml/).first().waitFor({ state: 'detached' });
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  const times = [];
  for (let round = 0; round < 8; round++) {
    times.push(
      await page.evaluate(async () => {
        const list = document.querySelector('[data-region=findings]');
        const changed = new Promise((resolve) => {
          new MutationObserver((_, observer) => resolve(observer.disconnect())).observe(list, { childList: true, subtree: true, characterData: true });
        });
        const start = performance.now();
        document.execCommand('insertText', false, 'l');
        await changed;
        return performance.now() - start;
      }),
    );
    await findings().getByText(/pynvml/).first().waitFor();
    await page.keyboard.press('Backspace');
    await findings().getByText(/pynvml/).first().waitFor({ state: 'detached' });
  }
  // Without a fast analysis before, typing has to rest for 200 ms.
  assert.ok(Math.min(...times) < 150, `${times.map(Math.round)} ms`);
});

test('a long paste is coloured, also at its end', async () => {
  await open();
  await paste(`${'def double(x):\n    return 2 * x\n\n'.repeat(1000)}import pynvml\n`);
  await findings().getByText(/pynvml/).first().waitFor();
  const last = page.locator('.cm-line', { hasText: 'import pynvml' });
  await last.locator('span', { hasText: 'import' }).waitFor();
});

test('text typed before the editor is loaded stays, with the focus', async () => {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(/\/editor-\w+\.js$/, (route) => released.then(() => route.continue()));
  await page.goto('about:blank');
  await page.goto(`${server.url}/playground/`, { waitUntil: 'commit' });
  const area = page.locator('textarea#code');
  // The text of the last visit is there, and does not replace the selection any more.
  await findings().first().waitFor();
  await area.focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('import apex\n');
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  await page.keyboard.press('ArrowUp');
  assert.equal(await editor().count(), 0);
  release();
  await support.showEditor(page);
  await page.unroute(/\/editor-\w+\.js$/);
  await page.keyboard.insertText('import pynvml\n');
  assert.equal(await code(), 'import pynvml\nimport apex\n');
  await findings().filter({ hasText: 'pynvml' }).first().waitFor();
  assert.deepEqual(errors.splice(0), []);
});

test('a page reloaded during a job continues its stream', async () => {
  await open();
  await paste(snippet);
  await summary(/2 findings/);
  await page.getByRole('button', { name: 'Benchmark this' }).click();
  await page.waitForURL(/\/jobs\//);
  await page.locator('table.variants').getByText('Eager').first().waitFor({ timeout: 60_000 });
  await page.reload();
  assert.match(await page.locator('table.variants').innerText(), /Eager/);
  assert.doesNotMatch(await page.locator('.job-state').innerText(), /done/i);
  await page.locator('.job-state').filter({ hasText: /done/i }).waitFor({ timeout: 180_000 });
  assert.match(await page.locator('table.variants').innerText(), /FASTER|SLOWER|SAME|AMBIGUOUS/);
});

test('a running job can be cancelled', async () => {
  await open();
  await paste(snippet.replace('torch.relu(x)', '(__import__("time").sleep(0.2), torch.relu(x))[1]'));
  await summary(/finding/);
  await page.getByRole('button', { name: 'Benchmark this' }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByRole('button', { name: /cancel/i }).click();
  await page.locator('.job-state').filter({ hasText: /cancelled/i }).waitFor({ timeout: 20_000 });
});

test('a share link brings the text and the target back, and no server sees it', async () => {
  await open();
  const text = 'import pynvml  # 名前 😀\n';
  await paste(text);
  await summary(/finding/);
  await page.getByLabel(/^GPU/).selectOption('gfx950');
  await page.getByRole('button', { name: /share link/i }).click();
  await summary(/copied/i);
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(link.startsWith(`${server.url}/playground/#`), link);

  const requests = [];
  page.on('request', (request) => requests.push(request.url() + (request.postData() ?? '')));
  await page.evaluate(() => localStorage.clear());
  await page.goto('about:blank');
  await page.goto(link);
  await support.showEditor(page);
  await summary(/finding/);
  assert.equal(await code(), text);
  assert.equal(await page.getByLabel(/^GPU/).inputValue(), 'gfx950');
  assert.ok(requests.every((request) => !request.includes('pynvml') && !request.includes('code=')));
});

test('a paste without the contract is offered a skeleton', async () => {
  await open();
  await paste('import torch\n\nclass Block(torch.nn.Module):\n    def forward(self, x):\n        return x\n');
  await page.locator('code').filter({ hasText: 'def get_inputs()' }).waitFor();
  await page.getByRole('button', { name: /skeleton/i }).click();
  await page.getByRole('button', { name: 'Benchmark this' }).waitFor();
  assert.match(await code(), /class Model\(/);
  assert.match(await code(), /def get_init_inputs\(\)/);
});

const bad = {
  'not Python': ['Dear all,\nthis is a letter; it is not a program!\nYours -> truly\n'.repeat(20), /python|syntax/i],
  'half a file': ['import pynvml\nclass Model(\n    def forward(self, x', /finding|syntax/i],
  'NUL bytes': ['import pynvml\n\0\0\0\n', /NUL|binary|finding/i],
  'CRLF and tabs': ['import pynvml\r\nif True:\r\n\timport apex\r\n', /finding/i],
  'emoji and CJK': ['名前 = "😀"\nimport pynvml\n', /finding/i],
  'five megabytes': ['x = 1\n'.repeat(900_000), /MB/],
};
for (const [name, [text, says]] of Object.entries(bad)) {
  test(`bad paste: ${name}`, async () => {
    await open();
    await paste(text);
    await page.locator('main').getByText(says).first().waitFor({ timeout: 15_000 });
    // The page still works: the next paste is analyzed.
    await paste('import pynvml\n');
    await findings().filter({ hasText: 'pynvml' }).first().waitFor({ timeout: 15_000 });
    assert.deepEqual(errors.splice(0), []);
  });
}

const lessonFile = (path) => readFile(new URL(`../../content/${path}`, import.meta.url), 'utf8');
const conditions = () => page.getByRole('list', { name: 'Conditions' }).getByRole('listitem');

async function openExercise(lesson) {
  await page.goto(`${server.url}/learn/${lesson}/`);
  await page.getByRole('link', { name: 'Solve it in the playground' }).first().click();
  await support.showEditor(page);
  await page.getByText(/^Task/).first().waitFor();
}

test('a lesson’s exercise shows its conditions and is solved when all of them are met', async () => {
  await openExercise('port/device-abstraction');
  await conditions().filter({ hasText: 'Not met: No finding of version-cuda-gate' }).filter({ hasText: 'Line 11' }).waitFor();
  const back = page.getByRole('link', { name: 'Back to the lesson' });
  assert.equal(await back.getAttribute('href'), '/learn/port/device-abstraction/');

  // The three rules have no findings, but the task is not done.
  const start = await lessonFile('01-port/01-device-abstraction/job_before.py');
  const quiet = start
    .replace('PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF')
    .replace(/if os\.environ\.get\("DEBUG"\):\n.*\n/, '')
    .replace(/ {4}if torch\.version\.cuda is None:\n.*\n/, '');
  assert.match(quiet, /return torch\.device\("cuda"\)[^]*torch\.cuda\.get_device_capability\(\)/);
  await paste(quiet);
  await conditions().filter({ hasText: 'Met: No finding of version-cuda-gate' }).waitFor();
  await conditions().filter({ hasText: 'torch.device("cuda") is still used without a check' }).waitFor();
  await conditions().filter({ hasText: 'torch.cuda.get_device_capability() is still called' }).waitFor();
  assert.equal(await page.getByText(/Solved/).count(), 0);

  await paste('# nothing is left\n');
  await conditions().filter({ hasText: 'Not met: The job still runs.' }).waitFor();
  assert.equal(await page.getByText(/Solved/).count(), 0);

  await paste(await lessonFile('01-port/01-device-abstraction/job_after.py'));
  await page.getByText(/Solved/).first().waitFor();
  assert.equal(await conditions().filter({ hasText: 'Not met' }).count(), 0);
  await back.click();
  await page.waitForURL(/\/learn\/port\/device-abstraction\/$/);
  assert.deepEqual(errors.splice(0), []);
});

test('the answer to an exercise survives a reload, and an exercise does not replace pasted code', async () => {
  await open();
  await paste('import apex\n');
  // It is stored with its report.
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  const wanted = { title: 'AMD SMI is imported.', message: 'Import it.', match: { import: 'amdsmi' } };
  const judged = encodeURIComponent(JSON.stringify({ no_findings: ['pynvml'], present: [wanted] }));
  const exercise = `/playground/#text=import%20pynvml%0A&task=Fix%20it.&exercise=${judged}`;
  await open(exercise);
  await page.getByText('Task.').waitFor();
  assert.equal(await code(), 'import pynvml\n');
  await open();
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  assert.equal(await code(), 'import apex\n', 'an exercise that was only looked at is not kept');
  await open(exercise);
  await page.getByText('Task.').waitFor();
  await paste('import amdsmi\n');
  await page.getByText(/Solved/).waitFor();
  await page.reload();
  await page.getByText(/Solved/).waitFor();
  assert.equal(await code(), 'import amdsmi\n');
  await open(exercise);
  await page.getByText('Task.').waitFor();
  assert.equal(await code(), 'import pynvml\n', 'the link opens as it is');
  await open();
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  assert.equal(await code(), 'import apex\n', 'an exercise that was solved does not replace the own code');
});

test('the last text is restored, even if the page is left at once', async () => {
  await open();
  await paste('import apex\n');
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  await editor().focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText('last = 1\n');
  await page.goto(`${server.url}/rules/`);
  await page.goBack();
  await support.showEditor(page);
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  assert.equal(await code(), 'import apex\nlast = 1\n');
  await open();
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  assert.equal(await code(), 'import apex\nlast = 1\n', 'on a new visit too');
});

test('a file can be opened or dropped, and one that is too large is refused with a sentence', async () => {
  await open();
  const file = (name, text) => ({ name, mimeType: 'text/x-python', buffer: Buffer.from(text) });
  await page.getByLabel('Open files').setInputFiles(file('opened.py', 'import apex\n'));
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['import pynvml\n'], 'dropped.py', { type: 'text/x-python' }));
    const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector('.cm-content').dispatchEvent(event);
  });
  await findings().filter({ hasText: 'pynvml' }).first().waitFor();
  await page.getByLabel('Open files').setInputFiles(file('large.py', 'x = 1\n'.repeat(500_000)));
  await page.getByRole('alert').filter({ hasText: /MB/ }).first().waitFor();
  assert.equal(await code(), 'import pynvml\n', 'the text that was there stays');
});

test('CUDA C++ is analyzed by a separate module, which loads when it is needed', async () => {
  const loaded = [];
  const note = (request) => loaded.push(request.url());
  page.on('request', note);
  const cuda = '#include <hip/hip_runtime.h>\n\n__device__ float first(float x) {\n  return __shfl_sync(0xffffffff, x, 0);\n}\n';
  await open();
  const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.getByLabel('Open files').setInputFiles(file('before.py', 'import apex\n'));
  await findings().filter({ hasText: 'apex' }).first().waitFor();
  assert.ok(!loaded.some((url) => url.includes('analyzer-all')), 'Python needs the small module alone');
  await page.getByLabel('Open files').setInputFiles(file('kernel.cu', cuda));
  await findings().filter({ hasText: 'lane-mask' }).first().waitFor();
  assert.match(await page.locator('[data-region=summary]').innerText(), /CUDA C\+\+/);
  assert.ok(loaded.some((url) => url.includes('analyzer-all')));
  await page.getByLabel('Read as').selectOption('dockerfile');
  await page.locator('[data-region=summary]').filter({ hasText: 'Dockerfile' }).waitFor();
  await page.getByLabel('Read as').selectOption('');
  await findings().filter({ hasText: 'lane-mask' }).first().waitFor();
  page.off('request', note);
});

test('the plain editor is a text area that works as well', async () => {
  await open();
  await page.getByLabel(/plain editor/i).check();
  const area = page.locator('textarea');
  await area.fill('import pynvml\n');
  await findings().filter({ hasText: 'pynvml' }).first().waitFor();
  await page.getByLabel(/plain editor/i).uncheck();
  await support.showEditor(page);
});
