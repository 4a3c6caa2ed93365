// `hipward bench --host https://…`: a server behind a proxy that terminates TLS, with a certificate authority of its own.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, startServer } from '../support/server.mjs';

const snippet = `import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.rand(16)]

def get_init_inputs():
    return []
`;

let server;
let proxy;
let folder;
let address;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-https-'));
  certificates();
  writeFileSync(join(folder, 'model.py'), snippet);
  server = await startServer(['--time-cap', '1', '--allow-host', 'localhost', '--minimum-isolation', 'limits'], { token: true });
  const { port } = new URL(server.url);
  const options = { key: readFileSync(join(folder, 'server.key')), cert: readFileSync(join(folder, 'server.pem')) };
  proxy = createServer(options, ({ url, method, headers }, response) => {
    const forwarded = request({ port, path: url, method, headers, host: '127.0.0.1' }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.req.pipe(forwarded);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  address = `https://localhost:${proxy.address().port}`;
});

after(async () => {
  proxy?.closeAllConnections();
  proxy?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// An authority, and a certificate for localhost that it has signed.
function certificates() {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const make = (name, ...more) =>
    openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`, ...more);
  make('authority', '-addext', 'keyUsage=keyCertSign');
  make(
    'server',
    ...['-CA', 'authority.pem', '-CAkey', 'authority.key'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'],
  );
}

async function bench(environment) {
  const child = spawn(hipward, ['bench', 'model.py', '--host', address, '--variants', 'eager'], {
    cwd: folder,
    env: { ...process.env, HIPWARD_TOKEN: new URL(server.entry).searchParams.get('token'), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => (out += part));
  child.stderr.on('data', (part) => (err += part));
  const [code] = await once(child, 'close');
  return { code, out, err };
}

test('a benchmark runs on a server behind TLS whose authority the machine trusts', async () => {
  const { code, out, err } = await bench({ SSL_CERT_FILE: join(folder, 'authority.pem') });
  assert.equal(code, 0, err);
  assert.match(out, /eager/);
  assert.match(err, new RegExp(`${address}/jobs/`));
});

test('a server whose certificate is not trusted gets no request', async () => {
  const { code, err } = await bench({ SSL_CERT_FILE: '' });
  assert.equal(code, 2, err);
  assert.match(err, /no answer from https:\/\/localhost.*certificate/);
});
