// The sign-in with an identity provider, from the link in the header: the reader comes back to the page, the header names the user,
// and the session counts for the API. The provider is a server of this test.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser, startServer } from '../support/server.mjs';

const SECRET = 'a-secret-of-the-client';

/** Signs `ann` in at once: discovery, keys, the redirect back, and the exchange of the code. */
async function startProvider() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const codes = new Map();
  const base64 = (value) => Buffer.from(value).toString('base64url');
  let issuer;
  const token = (nonce) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: 'hipward', iat: now, exp: now + 300, sub: '7', nonce, email: 'ann@example.org', email_verified: true, groups: ['gpu'] };
    const text = `${base64(JSON.stringify({ alg: 'RS256', kid: 'one' }))}.${base64(JSON.stringify(claims))}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const http = createServer(async (request, response) => {
    const url = new URL(request.url, issuer);
    const send = (value) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (url.pathname === '/.well-known/openid-configuration') {
      send({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` });
    } else if (url.pathname === '/keys') {
      send({ keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig', kid: 'one' }] });
    } else if (url.pathname === '/authorize') {
      const code = `code${codes.size}`;
      codes.set(code, url.searchParams);
      const back = new URL(url.searchParams.get('redirect_uri'));
      back.searchParams.set('code', code);
      back.searchParams.set('state', url.searchParams.get('state'));
      response.writeHead(302, { location: back.href }).end();
    } else if (url.pathname === '/token') {
      let body = '';
      for await (const part of request) body += part;
      const form = new URLSearchParams(body);
      const asked = codes.get(form.get('code'));
      codes.delete(form.get('code'));
      const challenge = createHash('sha256').update(form.get('code_verifier')).digest('base64url');
      const client = `Basic ${Buffer.from(`hipward:${SECRET}`).toString('base64')}`;
      if (asked?.get('code_challenge') === challenge && request.headers.authorization === client) {
        send({ access_token: 'opaque', token_type: 'Bearer', id_token: token(asked.get('nonce')) });
      } else {
        response.writeHead(400).end('{"error":"invalid_grant"}');
      }
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${http.address().port}`;
  return { issuer, stop: () => http.close() };
}

let provider;
let server;
let browser;
let folder;
before(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), 'hipward-secret-'));
  const secret = join(folder, 'secret');
  writeFileSync(secret, SECRET, { mode: 0o600 });
  const flags = ['--oidc-issuer', provider.issuer, '--oidc-client-id', 'hipward', '--oidc-client-secret-file', secret, '--oidc-role', 'groups=gpu:submit'];
  server = await startServer(flags, { token: true });
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the header leads to the sign-in, back to the page, and to the sign-out', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/rules/?from=here`);
  await page.getByRole('link', { name: 'Sign in' }).and(page.locator('[href*="return="]')).click();
  await page.waitForURL(`${server.url}/rules/?from=here`);
  const out = page.getByRole('link', { name: 'Sign out' });
  await out.waitFor();
  assert.equal(await out.getAttribute('title'), 'You are ann@example.org.');
  const answer = await page.evaluate(() =>
    fetch('/api/v1/jobs', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"code":""}' }).then((r) => r.status),
  );
  assert.notEqual(answer, 401, 'the session counts');

  await out.click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Signed out').first().waitFor();
  await page.goto(`${server.url}/rules/`);
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
});

test('a browser with a token sees no link, and one without scripts sees the sign-in', async () => {
  const known = await (await browser.newContext()).newPage();
  await known.goto(server.entry);
  await known.goto(`${server.url}/rules/`);
  await known.locator('[data-sign-in][hidden]').waitFor({ state: 'attached' });
  const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await plain.goto(`${server.url}/rules/`);
  assert.equal(await plain.getByRole('link', { name: 'Sign in' }).getAttribute('href'), '/sign-in');
});

test('a server without a provider has no link', async () => {
  const other = await startServer();
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${other.url}/`);
  assert.equal(await page.locator('[data-sign-in]').count(), 0);
  await other.stop();
});
