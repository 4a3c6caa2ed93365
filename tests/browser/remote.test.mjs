// Benchmarks on a runner of another origin: from a static site and from a server, with and without a token.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { after, before, test } from 'node:test';
import { paste } from '../support/editor.mjs';
import { hipward, startBrowser, startServer } from '../support/server.mjs';

const QUICK = `import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.softmax(-1)


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return []
`;
const SLOW = QUICK.replace('import torch\n', 'import time\nimport torch\n').replace('return x', 'time.sleep(0.5)\n        return x');

/** Nothing listens on this port. */
const ABSENT = 'http://127.0.0.1:9/';
/** For what waits until PyTorch is imported. */
const SLOWLY = { timeout: 120_000 };

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json', '.svg': 'image/svg+xml' };

/** A static host for a folder, whose origin is of another site than the runners'. */
async function staticHost() {
  const folder = mkdtempSync(join(tmpdir(), 'hipward-static-'));
  const server = createServer((request, answer) => {
    let path = join(folder, normalize(new URL(request.url, 'http://localhost').pathname));
    if (existsSync(path) && statSync(path).isDirectory()) path = join(path, 'index.html');
    if (!existsSync(path)) return answer.writeHead(404).end();
    answer.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
    createReadStream(path).pipe(answer);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${server.address().port}`,
    build(...flags) {
      const { status, stderr } = spawnSync(hipward, ['build', '--out', folder, ...flags], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    },
    stop() {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let site;
let browser;
let context;
let page;
before(async () => {
  site = await staticHost();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  site?.stop();
});

/** Starts a server, and waits until it has found PyTorch and its devices. */
async function startRunner(flags, options) {
  const runner = await startServer(flags, options);
  await fetch(`${runner.url}/api/v1/capabilities`);
  return runner;
}

/** A page without stored values. */
async function freshPage() {
  await context?.close();
  context = await browser.newContext();
  page = await context.newPage();
}

const runButton = () => page.getByRole('button', { name: 'Run the benchmark' });

/** Sends code with the variant eager alone. */
async function send(code) {
  await page.locator('form[data-benchmark] button[type=submit]:enabled').waitFor(SLOWLY);
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck();
  await paste(page, code);
  await runButton().click();
}

test('a static site without a runner offers none', async () => {
  site.build();
  await freshPage();
  await page.goto(`${site.url}/benchmark/`, { waitUntil: 'networkidle' });
  await page.getByText('No runner here').waitFor();
  assert.equal(await page.getByRole('radio').count(), 0);
  assert.equal(await runButton().isEnabled(), false);
  assert.equal((await fetch(`${site.url}/jobs/remote/`)).status, 404);
  // Pages that query the runner log no error.
  const errors = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(`${site.url}/learn/port/lanes/`, { waitUntil: 'networkidle' });
  await page.getByText('This site has no runner.').first().waitFor();
  for (const path of ['/playground/', '/isa/', '/benchmark/']) await page.goto(`${site.url}${path}`, { waitUntil: 'networkidle' });
  assert.deepEqual(errors, []);
});

test('a static site runs benchmarks on a runner with its token', async () => {
  const runner = await startRunner(['--allow-origin', site.url], { token: true });
  try {
    site.build('--runner', ABSENT, '--runner', runner.url);
    const host = new URL(runner.url).host;
    await freshPage();
    await page.goto(`${site.url}/benchmark/`);
    await page.getByText('It sends benchmarks to the runner that you select below.').waitFor();
    // The first runner does not answer, so the second is selected.
    await page.getByRole('radio', { name: host, checked: true }).waitFor(SLOWLY);
    const state = (name) => page.getByRole('listitem').filter({ hasText: name });
    await state('127.0.0.1:9').getByText('Does not answer').waitFor();
    await state(host).getByText('No job waits.').waitFor(SLOWLY);

    await send(QUICK);
    const dialog = page.getByRole('dialog', { name: 'Token' });
    await dialog.getByText(`${host} runs code only for those who have its token.`).waitFor();
    await dialog.getByLabel('Token').fill(new URL(runner.entry).searchParams.get('token'));
    await dialog.getByRole('button', { name: 'Send' }).click();

    await page.waitForURL(/\/jobs\/remote\/#runner=/);
    assert.equal(new URL(page.url()).origin, site.url);
    await page.locator('.badge[data-state=Done]').waitFor(SLOWLY);
    await page.getByRole('row', { name: /^Eager/ }).first().waitFor();
    const json = await page.getByRole('link', { name: 'Download JSON' }).getAttribute('href');
    assert.equal((await fetch(json)).status, 200);
    assert.match(await page.locator('[data-remote-code]').innerText(), /softmax/);
    assert.match(await page.title(), /^Benchmark: Done/);

    // After a reload, the page is rendered again from the events.
    await page.reload();
    await page.locator('.badge[data-state=Done]').waitFor();
    await page.goto(`${site.url}/jobs/`);
    await page.getByRole('row').filter({ hasText: `on ${host}` }).getByRole('link').click();
    await page.waitForURL(/\/jobs\/remote\/#runner=/);

    // The token reaches neither the permanent storage nor a cookie.
    const stored = await page.evaluate(() => JSON.stringify(localStorage));
    assert.equal(stored.includes(new URL(runner.entry).searchParams.get('token')), false);
    assert.deepEqual(await context.cookies(), []);
  } finally {
    await runner.stop();
  }
});

test('a page continues when its runner is back', async () => {
  const data = mkdtempSync(join(tmpdir(), 'hipward-data-'));
  const options = { data };
  let runner = await startRunner(['--allow-origin', site.url], options);
  try {
    site.build('--runner', runner.url);
    await freshPage();
    await page.goto(`${site.url}/benchmark/`);
    await send(SLOW);
    await page.waitForURL(/\/jobs\/remote\/#runner=/);
    await page.getByText(/Running on /).waitFor(SLOWLY);
    await page.getByRole('region', { name: 'Conditions' }).waitFor(SLOWLY);

    const bind = new URL(runner.url).host;
    await runner.stop();
    await page.getByRole('alert').getByText('The runner does not answer.').waitFor(SLOWLY);
    assert.equal(await page.getByRole('region', { name: 'Conditions' }).count(), 1, 'the results stay');
    runner = await startRunner(['--allow-origin', site.url], { ...options, bind });
    await page.getByText('The runner does not answer.').waitFor({ state: 'hidden', ...SLOWLY });
    await page.getByText(/Running on /).waitFor(SLOWLY);
    await page.getByRole('button', { name: 'Cancel this job' }).click();
    await page.getByText('The job was cancelled.').waitFor(SLOWLY);
  } finally {
    await runner.stop();
    rmSync(data, { recursive: true, force: true, maxRetries: 10 });
  }
});

test('a server offers other runners beside its own and the choice is stored', async () => {
  const other = await startRunner(['--allow-origin', 'http://wiki.example']);
  const server = await startRunner(['--runner', other.url, '--runner', ABSENT]);
  try {
    const host = new URL(other.url).host;
    await freshPage();
    const answer = await page.goto(`${server.url}/benchmark/`);
    assert.match(answer.headers()['content-security-policy'], new RegExp(`connect-src 'self' ${other.url}/ ${ABSENT};`));
    await page.getByRole('radio', { name: 'This server', checked: true }).waitFor(SLOWLY);
    // The other runner allows another site only.
    await page.getByRole('listitem').filter({ hasText: host }).getByText('does not allow pages of this site').waitFor(SLOWLY);
    await page.getByRole('radio', { name: host }).check();
    assert.equal(await runButton().isEnabled(), false);
    await page.reload();
    await page.getByRole('radio', { name: host, checked: true }).waitFor();
    await page.goto(`${server.url}/jobs/remote/#runner=http://evil.example/&job=abc`);
    await page.getByText('open it from the list of').waitFor();
  } finally {
    await server.stop();
    await other.stop();
  }
});
