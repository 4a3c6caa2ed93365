// A server that runs code only for its token: the page asks for it once, says when it is wrong, and stops jobs with it too.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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
  server = await startServer(['--token', 'open sesame']);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test('a job is sent and cancelled with the token that was asked for once', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/benchmark/`);
  await page.getByLabel('Code to benchmark').fill(SLOW);
  const run = page.getByRole('button', { name: 'Run the benchmark' });
  const dialog = page.getByRole('dialog', { name: 'Token' });
  await run.click();
  await dialog.getByText('runs code only for those who have its token').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('Authorization: Bearer').waitFor();

  await run.click();
  await dialog.getByLabel('Token').fill('open barley');
  await page.keyboard.press('Enter');
  await dialog.getByText('That is not this server’s token.').waitFor();
  await dialog.getByLabel('Token').fill('open sesame');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/jobs\/.+\//);

  await page.getByRole('button', { name: 'Cancel this job' }).click();
  await page.getByText('The job was cancelled.').waitFor({ timeout: 60_000 });
  assert.equal(await dialog.count(), 0);
  await page.close();
});
