// Code that waits for approval: the author's page, the operator's page, approval, changes, rejection and cancellation.

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

const PATIENCE = { timeout: 120_000 };

let server;
let browser;
before(async () => {
  // Without a token, the user of this machine is the operator, and all code waits.
  server = await startServer(['--approve']);
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function submit(width) {
  const answer = await fetch(`${server.url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'softmax', code: snippet(width), variants: ['eager'] }),
  });
  const job = await answer.json();
  assert.equal(job.state, 'awaiting-approval');
  return job.id;
}

test('an operator approves code, sees what has changed since, and rejects it with a reason', async () => {
  const first = await submit(256);
  const author = await browser.newPage();
  await author.goto(`${server.url}/jobs/${first}/`);
  await author.getByText('An operator must approve the code').waitFor();

  const operator = await browser.newPage();
  await operator.goto(`${server.url}/jobs/`);
  await operator.getByRole('link', { name: 'review their code' }).click();
  const pending = operator.getByRole('article', { name: 'softmax' });
  assert.match(await pending.innerText(), /torch\.rand\(64, 256\)/);
  await pending.getByRole('button', { name: 'Approve' }).click();
  await operator.getByText('Approved. The job is queued.').waitFor();
  // The author's page follows the events.
  await author.getByText('An operator must approve the code').waitFor({ state: 'detached', ...PATIENCE });
  assert.equal(await finished(server.url, first), 'done');

  const second = await submit(512);
  await author.goto(`${server.url}/jobs/${second}/`);
  await operator.reload();
  await pending.getByText(`Changes since job ${first}`).waitFor();
  assert.match(await pending.getByRole('row', { name: /Added/ }).innerText(), /512/);
  // A rejection needs a reason.
  await pending.getByRole('button', { name: 'Reject' }).click();
  await pending.getByLabel('Reason').fill('It is too large.');
  await pending.getByRole('button', { name: 'Reject' }).click();
  await operator.getByText('Rejected. The author sees the reason.').waitFor();
  await author.getByText('rejected the code: It is too large.').waitFor(PATIENCE);
});

test('the author cancels a job that waits for approval', async () => {
  const id = await submit(1024);
  const page = await browser.newPage();
  await page.goto(`${server.url}/jobs/${id}/`);
  await page.getByRole('button', { name: 'Cancel this job' }).click();
  await page.getByText('The job was cancelled.').waitFor(PATIENCE);
  await page.goto(`${server.url}/jobs/approvals/`);
  await page.getByText('No job waits for approval.').waitFor();
});
