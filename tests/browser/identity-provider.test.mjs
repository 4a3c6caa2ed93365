// The sign-in with a certified provider as it is delivered (npm's oidc-provider): its own pages ask for the name and the consent, ID
// tokens leave out the claims of scopes, and CI jobs have access tokens for an audience of their own.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { finished, require, startBrowser, startServer } from '../support/server.mjs';

const SECRET = 'a-secret-of-the-client';
const CI_SECRET = 'a-secret-of-the-ci-system';
const AUDIENCE = 'urn:hipward:ci';

/** The groups of each account. */
const accounts = { ann: ['gpu'], carl: ['gpu', 'gpu-ops'], eve: ['sales'] };

const snippet = `import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.ones(4)]

def get_init_inputs():
    return []
`;

/** A free port, which the provider and the server need to know of each other. */
async function freePort() {
  const http = createServer();
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address();
  await new Promise((resolve) => http.close(resolve));
  return port;
}

async function startProvider(redirect) {
  const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'one' }] },
    cookies: { keys: ['a key of this test'] },
    clients: [
      { client_id: 'hipward', client_secret: SECRET, redirect_uris: [redirect] },
      { client_id: 'ci', client_secret: CI_SECRET, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    ],
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: { email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_, id) =>
      accounts[id] && {
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, groups: accounts[id] }),
      },
    extraTokenClaims: () => ({ groups: ['gpu'] }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({ scope: 'jobs', audience: resource, accessTokenFormat: 'jwt' }),
      },
    },
  });
  const http = createServer(provider.callback());
  await new Promise((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    stop: () => {
      http.close();
      http.closeAllConnections();
    },
  };
}

let provider;
let server;
let browser;
let folder;
before(async () => {
  const port = await freePort();
  provider = await startProvider(`http://127.0.0.1:${port}/sign-in/callback`);
  folder = mkdtempSync(join(tmpdir(), 'hipward-secret-'));
  const secret = join(folder, 'secret');
  writeFileSync(secret, SECRET, { mode: 0o600 });
  const flags = [
    ...['--oidc-issuer', provider.issuer, '--oidc-client-id', 'hipward', '--oidc-client-secret-file', secret],
    ...['--oidc-scope', 'groups', '--oidc-role', 'groups=gpu:submit', '--oidc-role', 'groups=gpu-ops:operate'],
    ...['--oidc-audience', AUDIENCE, '--minimum-isolation', 'limits'],
  ];
  server = await startServer(flags, { token: true, bind: `127.0.0.1:${port}` });
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Signs an account in on the pages of the provider. */
async function signIn(account) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.url}/rules/`);
  await page.getByRole('link', { name: 'Sign in' }).and(page.locator('[href*="return="]')).click();
  await page.getByPlaceholder('Enter any login').fill(account);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  return page;
}

const submit = (page) =>
  page.evaluate(async (code) => {
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) };
    const answer = await fetch('/api/v1/jobs', request);
    return { status: answer.status, job: await answer.json() };
  }, snippet);

test('a user signs in on the pages of the provider and runs a job under the verified address', async () => {
  const page = await signIn('ann');
  await page.waitForURL(`${server.url}/rules/`);
  const out = page.getByRole('link', { name: 'Sign out' });
  await out.waitFor();
  assert.equal(await out.getAttribute('title'), 'You are ann@example.org.');
  const { status, job } = await submit(page);
  assert.equal(status, 202, JSON.stringify(job));
  const listed = await page.evaluate(async () => (await fetch('/api/v1/jobs')).text());
  assert.match(listed, /ann@example\.org/);
  const cancelled = await page.evaluate(async (id) => (await fetch(`/api/v1/jobs/${id}`, { method: 'DELETE' })).status, job.id);
  assert.equal(cancelled, 200);
  await finished(server.url, job.id);
});

test('the role follows from the claim, and a user without one is told', async () => {
  const operator = await signIn('carl');
  await operator.waitForURL(`${server.url}/rules/`);
  const maintenance = () => operator.evaluate(async () => (await fetch('/api/v1/maintenance', { method: 'DELETE' })).status);
  assert.ok((await maintenance()) < 300, 'an operator may end maintenance');

  const user = await signIn('ann');
  await user.waitForURL(`${server.url}/rules/`);
  const refused = await user.evaluate(async () => (await fetch('/api/v1/maintenance', { method: 'DELETE' })).status);
  assert.equal(refused, 403);

  const stranger = await signIn('eve');
  await stranger.getByText('has no role on this server').waitFor();
  await stranger.goto(`${server.url}/rules/`);
  assert.equal((await submit(stranger)).status, 401);
});

test('a CI job submits with an access token for the audience of the API', async () => {
  const request = async (resource) => {
    const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'jobs', resource });
    const authorization = `Basic ${Buffer.from(`ci:${CI_SECRET}`).toString('base64')}`;
    const answer = await fetch(`${provider.issuer}/token`, { method: 'POST', headers: { authorization }, body: form });
    const { access_token: token } = await answer.json();
    return fetch(`${server.url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ code: snippet }),
    });
  };
  const accepted = await request(AUDIENCE);
  const job = await accepted.json();
  assert.equal(accepted.status, 202, JSON.stringify(job));
  const refused = await request('urn:another:api');
  assert.equal(refused.status, 401);
  assert.equal((await refused.json()).code, 'provider-token-invalid');
});
