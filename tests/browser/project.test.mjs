// A real folder in the playground: chosen, dropped, read in the browser, summarized, and opened file by file.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import * as support from '../support/editor.mjs';
import { hipward, python, require, startBrowser, startServer } from '../support/server.mjs';

const deep = `src/${'deep/'.repeat(30)}net.py`;
const notebook = {
  cells: [
    { cell_type: 'markdown', metadata: {}, source: ['# Training'] },
    { cell_type: 'code', metadata: {}, execution_count: null, outputs: [], source: ['import pynvml\n', 'pynvml.nvmlInit()\n'] },
  ],
  metadata: { kernelspec: { name: 'python3', language: 'python', display_name: 'Python 3' } },
  nbformat: 4,
  nbformat_minor: 5,
};
const files = {
  'train.py': 'import os\nimport pynvml\n\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:256"\n',
  // No finding from Python 3.11 on.
  'quiet.py': 'from datetime import UTC, datetime\n\nprint(datetime.now(UTC))\n',
  'notebooks/train.ipynb': JSON.stringify(notebook),
  'setup.py':
    'from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\nsetup(ext_modules=[CUDAExtension("ops", ["csrc/wait.cu"])], cmdclass={"build_ext": BuildExtension})\n',
  'csrc/wait.cu': '#include <cuda_runtime.h>\n\nvoid wait() { cudaDeviceSynchronize(); }\n',
  'csrc/lanes.cuh': '#include <cuda_runtime.h>\n\n__device__ float first(float x) { return __shfl_sync(0xffffffff, x, 0); }\n',
  // An example of a library that the project contains: no build lists it.
  'csrc/library/LICENSE': 'MIT\n',
  'csrc/library/example/show.cu': '#include <cuda_runtime.h>\n\nvoid show() { cudaDeviceSynchronize(); }\n',
  'requirements.txt': 'torch\nnvidia-cublas-cu12==12.4.5.8\n',
  'docker/Dockerfile': 'FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n',
  [deep]: 'import apex\n',
  '.github/workflows/test.yml': 'jobs:\n  test:\n    container: nvidia/cuda:12.4.1-base-ubuntu22.04\n',
  'latin.py': Buffer.from([0x23, 0x20, 0xe9, 0x0a]),
  'binary.py': Buffer.from('x = 1\n\0\0\n'),
  'large.py': 'x = 1\n'.repeat(500_000),
  'README.txt': 'A model\n',
  'weights.bin': Buffer.alloc(4096, 7),
  '.git/config.py': 'import apex\n',
  'node_modules/some/index.py': 'import apex\n',
  'venv/pyvenv.cfg': 'home = /usr\n',
  'venv/lib/python3/site.py': 'import apex\n',
  // Files that git ignores, at the root and below; a later line and a nearer file take precedence.
  '.gitignore': '*.pyc\n/gen/\ndata/*\n!data/keep.py\nScratch.py\n',
  'gen/built.py': 'import apex\n',
  'data/raw.py': 'import apex\n',
  'data/keep.py': 'x = 1\n',
  'src/gen/kept.py': 'x = 1\n',
  'src/.gitignore': '*_pb2.py\n!gen\n',
  'src/proto_pb2.py': 'import apex\n',
  'src/.ignore': '/unread.py\n!read_pb2.py\n',
  'src/unread.py': 'import apex\n',
  'src/read_pb2.py': 'x = 1\n',
  'scratch.py': 'x = 1\n',
  'hipward.toml': 'ignore = []\n',
  // Other line ends and a byte order mark are preserved.
  'windows.py': '\ufeffimport os\r\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "a:1"\r\n',
};

let folder;
let server;
let browser;
let page;
const errors = [];
const requests = [];

before(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'hipward-folder-')), 'model');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  server = await startServer();
  browser = await startBrowser();
  page = await (await browser.newContext({ bypassCSP: true })).newPage();
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('request', (request) => requests.push(request));
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(dirname(folder), { recursive: true, force: true });
});
beforeEach(async () => {
  await page.goto('about:blank');
  await page.goto(`${server.url}/playground/`);
  await support.showEditor(page);
  requests.length = 0;
});

// Files that are read: all of a known kind except the excluded ones.
const read = 16;
const project = () => page.getByRole('region', { name: 'model' });
const loud = () => project().getByRole('list', { name: 'Files with findings' });
const findings = () => page.getByRole('list', { name: 'Findings', exact: true }).getByRole('listitem');
const code = () => support.code(page);

// The browser reads files with low priority, which takes long while other programs have work.
const patience = { timeout: 120_000 };

async function choose() {
  await page.getByLabel('Check a folder').setInputFiles(folder, patience);
  await project().getByText(/findings in \d+ of 16 files/).waitFor(patience);
  // A file of it is opened.
  await project().locator('[aria-current]').waitFor();
}

test('a chosen folder is summarized: contents, who does the work, estimated effort, skipped files', async () => {
  await choose();
  assert.equal(await loud().getByRole('listitem').count(), 10);
  for (const name of ['train.py', 'windows.py', 'notebooks/train.ipynb', 'csrc/wait.cu', 'csrc/lanes.cuh', 'csrc/library/example/show.cu', 'requirements.txt', 'docker/Dockerfile', deep, '.github/workflows/test.yml']) {
    assert.equal(await loud().getByRole('button', { name, exact: true }).count(), 1, name);
  }
  await project().getByText('6 files without findings').click();
  assert.ok(await project().getByRole('button', { name: 'quiet.py' }).isVisible());

  const families = await project().locator('.families').innerText();
  assert.match(families, /Vendor libraries\s+\d/);
  assert.match(families, /CUDA C\+\+/);
  const tiles = await project().locator('.tiles').innerText();
  const numbers = tiles.match(/\d+/g).map(Number);
  assert.ok(numbers[0] > 4, `a person has work: ${tiles}`);
  assert.ok(numbers[1] > 0, `setup.py makes the names hipify's: ${tiles}`);
  await project().getByText(/^Porting effort/).click();
  assert.match(await project().getByRole('group', { name: 'Effort' }).innerText(), /Set up ROCm/);
  assert.ok(await project().getByText(/^Estimated from a table, not measured/).isVisible());

  await project().getByText('Porting plan', { exact: true }).click();
  const plan = await project().getByRole('group', { name: 'Porting plan' }).innerText();
  for (const part of ['# Porting plan for gfx942', '## Without a person', 'csrc/wait.cu', '## A. Packages', '- [ ] **pynvml** (HW101, error)']) {
    assert.ok(plan.includes(part), `${part}: ${plan}`);
  }
  const saved = page.waitForEvent('download');
  await project().getByRole('button', { name: 'Download the plan' }).click();
  assert.equal((await saved).suggestedFilename(), 'model-porting-plan.md');

  await project().getByText(/^Not read: \d+/).click();
  const skipped = await project().locator('.skipped').innerText();
  for (const [why, name] of [
    [/hidden, installed/, '.git'],
    [/hidden, installed/, 'node_modules'],
    [/hidden, installed/, 'venv'],
    [/kinds that Hipward does not read/, 'weights.bin'],
    [/over 2 MB/, 'large.py'],
    [/not text/, 'binary.py'],
    [/not text/, 'latin.py'],
    [/\.gitignore/, 'gen'],
    [/\.gitignore/, 'data/raw.py'],
    [/\.gitignore/, 'src/proto_pb2.py'],
    [/\.gitignore/, 'src/unread.py'],
  ]) {
    assert.match(skipped, why);
    assert.ok(skipped.includes(name), `${name} is not in ${skipped}`);
  }
  assert.match(await project().innerText(), /settings in hipward\.toml/);
  for (const inside of ['config.py', 'built.py']) {
    assert.ok(!skipped.includes(inside), 'a folder that is left out is named, not walked');
  }
});

test('the command line reports the same numbers for the same folder', async () => {
  await choose();
  // It reports the files that are not UTF-8 on standard error.
  const { stdout: said } = spawnSync(hipward, ['check', folder], { encoding: 'utf8' });
  const [, person, hipify] = said.match(/For a person: (\d+)\. Done by PyTorch's hipify: (\d+)/) ?? [];
  assert.ok(person, said);
  assert.deepEqual((await project().locator('.tiles dd').allInnerTexts()).slice(0, 2), [person, hipify]);
  const { stdout: json } = spawnSync(hipward, ['check', '--format', 'json', folder], { encoding: 'utf8' });
  const theirs = JSON.parse(json).filter(({ findings }) => findings.length > 0).map(({ path }) => relative(folder, path));
  assert.deepEqual((await loud().getByRole('button').allInnerTexts()).sort(), theirs.sort());
});

test('a file opens in the editor with its findings, by keyboard, and its fix is stored', async () => {
  await choose();
  const train = loud().getByRole('button', { name: 'train.py', exact: true });
  await train.focus();
  await page.keyboard.press('Enter');
  await findings().filter({ hasText: 'cuda-alloc-conf' }).waitFor();
  assert.equal(await code(), files['train.py']);
  assert.equal(await train.getAttribute('aria-current'), 'true');
  await page.getByRole('button', { name: /apply .*safe fix/i }).click();
  await page.waitForFunction(() => !document.querySelector('.findings')?.textContent.includes('cuda-alloc-conf'));
  const fixed = await code();
  assert.match(fixed, /PYTORCH_ALLOC_CONF/);

  await loud().getByRole('button', { name: 'csrc/lanes.cuh' }).click();
  await findings().filter({ hasText: 'lane-mask' }).waitFor();
  await loud().getByRole('button', { name: 'csrc/library/example/show.cu' }).click();
  await findings().filter({ hasText: 'cuda-api' }).filter({ hasText: /info/i }).first().waitFor();
  await loud().getByRole('button', { name: 'notebooks/train.ipynb' }).click();
  await findings().filter({ hasText: 'pynvml' }).first().waitFor();
  await train.click();
  await page.waitForFunction((text) => document.querySelector('.cm-content').textContent.includes(text), 'PYTORCH_ALLOC_CONF');
  assert.equal(await code(), fixed, 'what was fixed is still there');

  await project().getByRole('button', { name: 'Close the folder' }).click();
  assert.equal(await project().count(), 0);
  assert.equal(await code(), fixed, 'the text stays');
});

test('the editor shows the file with the worst findings, whose fixes show their changes', async () => {
  const own = await code();
  await choose();
  const first = loud().getByRole('listitem').first();
  assert.equal(await first.getByRole('button').getAttribute('aria-current'), 'true');
  assert.equal(await code(), files[await first.getByRole('button').innerText()]);
  assert.notEqual(await code(), own);

  await loud().getByRole('button', { name: 'train.py', exact: true }).click();
  const finding = findings().filter({ hasText: 'cuda-alloc-conf' });
  await finding.getByText('Show the change').click();
  assert.match(await finding.getByRole('table').innerText(), /PYTORCH_CUDA_ALLOC_CONF[\s\S]*PYTORCH_ALLOC_CONF/);
  await finding.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.locator('.cm-changed').waitFor();
  assert.match(await code(), /"PYTORCH_ALLOC_CONF"/);
  await finding.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await finding.waitFor();
  assert.equal(await code(), files['train.py']);

  // Undo does not continue into the text of another file.
  await loud().getByRole('button', { name: 'csrc/lanes.cuh' }).click();
  await findings().filter({ hasText: 'lane-mask' }).waitFor();
  await page.locator('.cm-content').focus();
  await page.keyboard.press('Control+z');
  assert.equal(await code(), files['csrc/lanes.cuh']);
});

test('a file of it is benchmarked beside the page, which keeps the folder', async () => {
  await choose();
  await loud().getByRole('button', { name: 'train.py', exact: true }).click();
  await findings().filter({ hasText: 'cuda-alloc-conf' }).waitFor();
  await support.paste(
    page,
    'import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n\n\ndef get_inputs():\n    return [torch.ones(4)]\n\n\ndef get_init_inputs():\n    return []\n',
  );
  const benchmark = page.getByRole('button', { name: 'Benchmark this' });
  // Until the runner has loaded PyTorch.
  await page.waitForFunction(() => document.querySelector('#benchmark')?.disabled === false, null, patience);
  const [job] = await Promise.all([page.waitForEvent('popup'), benchmark.click()]);
  await job.waitForURL(/\/jobs\/[^/]+\/$/);
  await page.getByText('your folder stays').waitFor();
  assert.equal(await project().count(), 1);
  assert.ok(await benchmark.isEnabled());
  // The tests after this one have the processor for themselves.
  const cancel = async (job) => {
    const url = job.url().replace('/jobs/', '/api/v1/jobs/').replace(/\/$/, '');
    await job.close();
    return page.evaluate(async (url) => (await fetch(url, { method: 'DELETE' })).status, url);
  };
  assert.equal(await cancel(job), 200);

  // As some seconds after a click.
  await page.evaluate(() => (window.open = () => null));
  await benchmark.click();
  const link = page.getByRole('link', { name: 'Open the page in a new tab' });
  const [second] = await Promise.all([page.waitForEvent('popup'), link.click()]);
  await second.waitForURL(/\/jobs\/[^/]+\/$/);
  assert.equal(await project().count(), 1);
  assert.equal(await cancel(second), 200);
});

for (const [kind, name, unpack] of [
  ['patch', 'a patch for git', (file) => ['git', ['apply', file]]],
  ['zip', 'a zip of the fixed files', (file) => [python, ['-m', 'zipfile', '-e', file, '.']]],
]) {
  test(`safe fixes and what was typed come as ${name}: to the byte what the command line makes of the folder`, async () => {
    await choose();
    await loud().getByRole('button', { name: 'csrc/lanes.cuh' }).click();
    await findings().filter({ hasText: 'lane-mask' }).waitFor();
    await page.locator('.cm-content').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('// mine');
    const typed = `${files['csrc/lanes.cuh']}// mine`;
    assert.equal(await code(), typed);
    // Opened and not changed.
    await loud().getByRole('button', { name: 'windows.py' }).click();
    await page.waitForFunction(() => document.querySelector('.cm-content').textContent.includes('a:1'));
    const [download] = await Promise.all([page.waitForEvent('download'), project().getByRole('button', { name }).click()]);
    assert.equal(download.suggestedFilename(), `model-rocm.${kind}`);
    await page.getByRole('status').filter({ hasText: /model-rocm\.\w+ changes 3 files/ }).waitFor();

    const scratch = mkdtempSync(join(tmpdir(), 'hipward-fixed-'));
    try {
      const [ours, theirs] = ['ours', 'theirs'].map((name) => join(scratch, name));
      for (const to of [ours, theirs]) cpSync(folder, to, { recursive: true });
      const file = join(scratch, download.suggestedFilename());
      await download.saveAs(file);
      const [program, args] = unpack(file);
      const { status, stderr } = spawnSync(program, args, { cwd: ours, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      writeFileSync(join(theirs, 'csrc/lanes.cuh'), typed);
      spawnSync(hipward, ['check', '--fix', theirs]);
      for (const path of Object.keys(files)) {
        assert.deepEqual(readFileSync(join(ours, path), 'utf8'), readFileSync(join(theirs, path), 'utf8'), path);
      }
      assert.notEqual(readFileSync(join(ours, 'windows.py'), 'utf8'), files['windows.py']);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
}

test('another target gives another summary, and nothing leaves the browser', async () => {
  await choose();
  const of = async () => (await project().getByText(/findings in \d+ of 16 files/).innerText()).match(/\d+/g).map(Number);
  const [count, loudFiles] = await of();
  // The second folder is chosen while the first is being read; nothing of the first is counted.
  await page.getByLabel(/^GPU/).selectOption('gfx950');
  await page.getByLabel(/^Python/).selectOption('3.9');
  await loud().getByRole('button', { name: 'quiet.py' }).waitFor();
  assert.deepEqual(await of(), [count + 1, loudFiles + 1, read]);
  for (const request of requests) {
    assert.equal(request.method(), 'GET', request.url());
    assert.ok(request.url().startsWith(server.url) || request.url().startsWith('blob:'), request.url());
    assert.ok(!/pynvml|train\.py|model\//.test(request.url()), request.url());
  }
  assert.deepEqual(errors.splice(0), []);
});

const text = '.cm-content';

// A drop as the browser gets it from the desktop, on an element of the page.
async function drop(element, ...paths) {
  const { x, y } = await page.locator(element).boundingBox();
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  const client = await page.context().newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await client.send('Input.dispatchDragEvent', { type, x: x + 9, y: y + 9, data });
  }
}

test('a dropped folder is read by the browser', async () => {
  await drop('h1', folder);
  await project().getByText(/findings in \d+ of 16 files/).waitFor(patience);
  assert.equal(await loud().getByRole('button', { name: deep, exact: true }).count(), 1);
  await project().getByText(/^Not read: \d+/).click();
  assert.match(await project().locator('.skipped').innerText(), /venv/);
});

test('a dropped folder is read to its end: the browser lists a hundred entries at a time', async () => {
  const large = mkdtempSync(join(tmpdir(), 'hipward-large-'));
  try {
    for (let index = 0; index < 201; index++) writeFileSync(join(large, `f${index}.py`), 'import apex\n');
    await drop(text, large);
    await page.getByText(/findings in 201 of 201 files/).first().waitFor(patience);
  } finally {
    rmSync(large, { recursive: true });
  }
});

test('several files are opened together, and a single one in the editor', async () => {
  const paths = ['train.py', 'csrc/wait.cu'].map((name) => join(folder, name));
  for (const [name, open] of [
    ['2 files', () => page.getByLabel('Open files').setInputFiles(paths, patience)],
    ['2 dropped items', () => drop(text, ...paths)],
  ]) {
    await open();
    const panel = page.getByRole('region', { name });
    await panel.getByText(/findings in 2 of 2 files/).waitFor(patience);
    for (const file of ['train.py', 'wait.cu']) {
      await panel.getByRole('button', { name: file, exact: true }).click();
      await panel.locator('[aria-current]').filter({ hasText: file }).waitFor();
    }
    assert.equal(await code(), files['csrc/wait.cu'], name);
    await panel.getByRole('button', { name: 'Close the folder' }).click();
    await panel.waitFor({ state: 'detached' });
  }
  await drop(text, paths[0]);
  await findings().filter({ hasText: 'cuda-alloc-conf' }).waitFor(patience);
  assert.equal(await code(), files['train.py']);
  assert.equal(await page.getByRole('region', { name: /files|items/ }).count(), 0);
});

for (const [width, colorScheme] of [[320, 'dark'], [1280, 'light']]) {
  test(`the summary is accessible and fits ${width} px, ${colorScheme}`, async () => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await choose();
    for (const one of await project().locator('summary').all()) await one.click();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
    assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`), []);
  });
}
