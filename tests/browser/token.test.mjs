// A server that runs code only for its token. The address that it prints is enough. Without it, the page requests the token
// once, reports a wrong one, and stores a cookie.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { paste } from '../support/editor.mjs';
import { startBrowser, startServer } from '../support/server.mjs';

const SLOW = `import time
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.5)
        return x


def get_inputs():
    return [torch.ones(4)]


def get_init_inputs():
    return []
`;

let server;
let browser;
before(async () => {
  server = await startServer([], { token: true });
  // The benchmark page waits until PyTorch was found.
  await fetch(`${server.url}/api/v1/capabilities`);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Sends the slow job from the benchmark page. */
async function run(page) {
  await page.goto(`${server.url}/benchmark/`);
  await paste(page, SLOW);
  await page.getByRole('button', { name: 'Run the benchmark' }).click();
}

async function cancel(page) {
  await page.waitForURL(/\/jobs\/.+\//);
  await page.getByRole('button', { name: 'Cancel this job' }).click();
  await page.getByText('The job was cancelled.').waitFor({ timeout: 60_000 });
}

test('the printed address needs no token to be entered', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.entry);
  assert.equal(page.url(), `${server.url}/`);
  await run(page);
  await cancel(page);
  assert.equal(await page.getByRole('dialog').count(), 0);
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, 'Strict');
  await context.close();
});

test('without it the page requests the token once', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const dialog = page.getByRole('dialog', { name: 'Token' });
  await run(page);
  await dialog.getByText('runs code only for those who have its token').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('Authorization: Bearer').waitFor();

  await page.getByRole('button', { name: 'Run the benchmark' }).click();
  await dialog.getByLabel('Token').fill('open barley');
  await page.keyboard.press('Enter');
  await dialog.getByText('did not accept that token').waitFor();
  await dialog.getByLabel('Token').fill(new URL(server.entry).searchParams.get('token'));
  await dialog.getByRole('button', { name: 'Send' }).click();
  await cancel(page);

  // Another page has no token any more, but the cookie.
  await run(page);
  await cancel(page);
  assert.equal(await dialog.count(), 0);
  assert.equal(await page.evaluate(() => localStorage.getItem('hipward.token')), null);
  await context.close();
});
