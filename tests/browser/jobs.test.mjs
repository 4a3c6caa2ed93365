// Jobs: the list of this browser and of the runner, the running job, run again, and the comparison.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { finished, startBrowser, startServer } from '../support/server.mjs';

const snippet = (width) => `import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.softmax(-1)

def get_inputs():
    return [torch.rand(64, ${width})]

def get_init_inputs():
    return []
`;

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

async function submit(title, width) {
  const answer = await fetch(`${server.url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title, code: snippet(width), variants: ['eager'], device: 'cpu', labels: [`width-${width}`] }),
  });
  return (await answer.json()).id;
}

test('a running job shows its step, its time and what is to come, and offers its files when it has ended', async () => {
  const id = await submit('narrow', 256);
  await page.goto(`${server.url}/jobs/${id}/`);
  const state = page.locator('[data-region=state]');
  await state.getByText(/Running on .*: (computing the reference|measuring|timing|checking|warming|importing)/).waitFor({ timeout: 90_000 });
  await page.getByText(/^\d+:\d\d of at most \d+:\d\d, \d+:\d\d in this step$/).waitFor({ timeout: 60_000 });
  assert.equal(await page.getByRole('link', { name: 'Download JSON' }).count(), 0);
  assert.equal(await finished(server.url, id), 'done');
  await page.getByRole('link', { name: 'Download JSON' }).waitFor();
  assert.equal(await page.getByText(/of at most/).count(), 0);
});

test('a job that reaches its time limit shows what it measured and what was left out', async () => {
  const limited = await startServer(['--wall-limit', '60', '--time-cap', '600']);
  try {
    const sleeps = snippet(256).replace('import torch', 'import time\nimport torch').replace('        return', '        time.sleep(0.2)\n        return');
    const slow = 'class ModelNew(Model):\n    def forward(self, x):\n        time.sleep(30)\n        return super().forward(x)\n';
    const answer = await fetch(`${limited.url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: `${sleeps}\n${slow}`, variants: ['eager', 'eager-control', 'model-new'] }),
    });
    const { id } = await answer.json();
    assert.equal(await finished(limited.url, id), 'done');
    await page.goto(`${limited.url}/jobs/${id}/`);
    const table = page.locator('table.variants');
    assert.match(await table.innerText(), /Eager\s+\d/);
    assert.match(await table.innerText(), /ModelNew\s+Not available here: Left out/);
    await page.locator('[data-region=state]').getByText('Done', { exact: true }).waitFor();
  } finally {
    await limited.stop();
  }
});

test('a click on Cancel before the page is interactive cancels the job', async () => {
  const context = await browser.newContext();
  const slow = await context.newPage();
  let load;
  const clicked = new Promise((resolve) => { load = resolve; });
  await slow.route('**/island-job*.wasm', async (route) => {
    await clicked;
    await route.continue();
  });
  const id = await submit('cancelled early', 512);
  await slow.goto(`${server.url}/jobs/${id}/`);
  await slow.getByRole('button', { name: 'Cancel this job' }).click();
  load();
  await slow.getByText('The job was cancelled.').waitFor({ timeout: 60_000 });
  await context.close();
});

test('the list shows the jobs of this browser and of the runner, and compares what is selected', async () => {
  const other = await submit('wide', 1024);
  assert.equal(await finished(server.url, other), 'done');
  await page.goto(`${server.url}/jobs/`);
  const own = page.getByRole('region', { name: 'This browser' });
  const all = page.getByRole('region', { name: 'All jobs' });
  await own.getByRole('link', { name: 'narrow' }).waitFor();
  assert.equal(await own.getByRole('link', { name: 'wide' }).count(), 0, 'it was not opened here');
  const { headline } = (await (await fetch(`${server.url}/api/v1/jobs`)).json()).find(({ title }) => title === 'narrow');
  await own.getByRole('row', { name: /narrow/ }).getByText(headline).waitFor();
  assert.deepEqual(await all.getByRole('link', { name: /^(wide|narrow)$/ }).allInnerTexts(), ['wide', 'narrow']);
  const phone = await browser.newPage({ viewport: { width: 320, height: 640 }, hasTouch: true });
  await phone.goto(`${server.url}/jobs/`);
  const boxes = await phone.locator('label:has(input[type=checkbox])').all();
  assert.ok(boxes.length >= 2);
  for (const box of boxes) {
    const { width, height } = await box.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${width} × ${height}`);
  }
  await phone.close();
  await page.getByLabel('Search', { exact: true }).fill('nar');
  await page.getByLabel('State').selectOption('done');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('link', { name: 'Show all' }).waitFor();
  assert.deepEqual(await all.getByRole('link', { name: /^(wide|narrow)$/ }).allInnerTexts(), ['narrow']);
  await page.getByLabel('State').selectOption('failed');
  await page.getByLabel('Search', { exact: true }).press('Enter');
  await page.getByText('No job matches.').waitFor();
  await page.getByRole('link', { name: 'Show all' }).click();
  await all.getByRole('checkbox', { name: /narrow/ }).check();
  await all.getByRole('checkbox', { name: /wide/ }).check();
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/\/jobs\/compare\/\?job=/);
  const eager = page.getByRole('row', { name: /^Eager/ }).first();
  // The selected job that comes first on the page is the reference.
  assert.match(await eager.innerText(), /\d× \[\d/);
  assert.match(await page.getByRole('region', { name: 'Conditions that differ' }).innerText(), /SHA-256/);
  const heads = page.locator('table.comparison thead th[scope=col]');
  assert.match(await heads.nth(1).innerText(), /^A: wide/);
  await page.getByRole('link', { name: 'Make it the first' }).click();
  await page.waitForURL(/job=[^&]+&job=/);
  await heads.nth(1).getByText('narrow').waitFor();
});

test('a job runs again with the same code, device and labels', async () => {
  await page.goto(`${server.url}/jobs/`);
  await page.getByRole('region', { name: 'This browser' }).getByRole('link', { name: 'narrow' }).click();
  await page.waitForURL(/\/jobs\/(?!compare)[^/]+\/$/);
  const first = page.url();
  await page.getByRole('button', { name: 'Run it again' }).click();
  await page.waitForURL((url) => url.href !== first);
  assert.match(await page.locator('h1').innerText(), /narrow/);
  assert.match(await page.locator('#snippet + div').innerText(), /torch\.rand\(64, 256\)/);
  const id = page.url().match(/jobs\/([^/]+)/)[1];
  const again = await (await fetch(`${server.url}/api/v1/jobs/${id}`)).json();
  assert.deepEqual([again.labels, again.requested_device, again.variants], [['width-256'], 'cpu', ['eager', 'eager-control']]);
});

test('a selection of fewer than two jobs leads back to the list', async () => {
  await page.goto(`${server.url}/jobs/compare/?job=none`);
  await page.getByRole('link', { name: 'list of jobs' }).waitFor();
});

test('with a token only its owner sees the jobs of others', async () => {
  const guarded = await startServer([], { token: true });
  const stranger = await (await browser.newContext()).newPage();
  try {
    await stranger.goto(`${guarded.url}/jobs/`);
    await stranger.getByRole('region', { name: 'This browser' }).waitFor();
    assert.equal(await stranger.getByText('All jobs of this runner').count(), 0);
    assert.equal((await fetch(`${guarded.url}/api/v1/jobs`)).status, 401);
    await stranger.goto(guarded.entry);
    await stranger.goto(`${guarded.url}/jobs/`);
    await stranger.getByText('This runner has no jobs yet.').waitFor();
  } finally {
    await stranger.context().close();
    await guarded.stop();
  }
});
