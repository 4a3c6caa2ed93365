// What a browser transfers: compressed responses, entity tags, and sizes. Without a browser, whose answers hide the encoding.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { startServer } from '../support/server.mjs';

const LESSON = '/learn/baseline/honest-timing/';
/** In bytes: a lesson with all that it loads. */
const MOST = 30_000;

let server;
before(async () => {
  server = await startServer(['--allow-host', 'gpuhost']);
});
after(async () => {
  await server?.stop();
});

function get(path, headers = {}) {
  return new Promise((resolve, reject) => {
    request(server.url + path, { headers }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }));
    })
      .on('error', reject)
      .end();
  });
}

// Chromium requests gzip alone over plain HTTP from another host.
for (const [coding, headers] of [
  ['br', { 'accept-encoding': 'gzip, deflate, br' }],
  ['gzip', { 'accept-encoding': 'gzip, deflate', host: 'gpuhost' }],
]) {
  test(`pages, search index, API and assets are sent as ${coding}, and once`, async () => {
    const page = await get(LESSON, headers);
    const assets = page.headers['content-encoding'] === coding ? await assetsOf(headers) : [];
    assert.ok(assets.length >= 3, 'styles, script and icon');
    for (const path of [LESSON, '/', '/playground/', '/search.json', '/api/openapi.json', ...assets]) {
      const answer = await get(path, headers);
      assert.equal(answer.status, 200, path);
      assert.equal(answer.headers['content-encoding'], coding, path);
      const plain = await get(path, headers.host ? { host: headers.host } : {});
      assert.ok(answer.body.length < plain.body.length, path);
      const { etag } = answer.headers;
      if (etag === undefined) {
        assert.match(answer.headers['cache-control'], /immutable/, path);
      } else {
        const again = await get(path, { ...headers, 'if-none-match': etag });
        assert.equal(again.status, 304, path);
        assert.equal(again.body.length, 0);
      }
    }
  });

  test(`a lesson takes at most ${MOST / 1000} KB as ${coding}`, async () => {
    let sum = 0;
    for (const path of [LESSON, ...(await assetsOf(headers))]) sum += (await get(path, headers)).body.length;
    assert.ok(sum <= MOST, `${sum} bytes`);
  });
}

/** The files that a lesson loads. Others are listed for scripts, which load them when they are needed. */
async function assetsOf({ host }) {
  const { body } = await get(LESSON, host ? { host } : {});
  return [...body.toString().matchAll(/<(?:link|script)[^>]* (?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
}

test('a browser that uses a foreign host name gets a page with the address to open', async () => {
  const answer = await get('/', { host: 'evil.example', accept: 'text/html' });
  assert.equal(answer.status, 403);
  assert.match(answer.headers['content-type'], /^text\/html/);
  assert.ok(answer.body.includes(`Open ${server.url}/ instead`), answer.body.toString());
});
