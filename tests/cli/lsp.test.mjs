// `hipward lsp` as a child process of Visual Studio Code's client library.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { hipward, require } from '../support/server.mjs';

const lsp = require('vscode-languageserver-protocol/node');

const servers = [];
// A server whose test failed would prevent this process from ending.
after(() => servers.forEach((child) => child.kill()));

/** A server in a folder with these files, and a client of it. */
async function start(files, capabilities = {}, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hipward-lsp-'));
  const write = (name, text) => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  // A repository of its own, so that other temporary files do not affect it.
  write('.git/HEAD', 'ref: refs/heads/main\n');
  for (const [name, text] of Object.entries(files)) write(name, text);
  const child = spawn(hipward, ['lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'], cwd: folder });
  servers.push(child);
  const received = { diagnostics: [], messages: [], registrations: [], errors: [] };
  const waiting = [];
  const receive = (list, value) => {
    list.push(value);
    for (const look of waiting.splice(0)) look();
  };
  const nothing = () => {};
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(child.stdout),
    new lsp.StreamMessageWriter(child.stdin),
    { error: (text) => receive(received.errors, text), warn: nothing, info: nothing, log: nothing },
  );
  connection.onNotification('textDocument/publishDiagnostics', (value) => receive(received.diagnostics, value));
  connection.onNotification('window/showMessage', (value) => receive(received.messages, value));
  connection.onRequest('client/registerCapability', (value) => receive(received.registrations, value));
  connection.listen();
  /** The first received value that matches, now or later. */
  const until = (list, fits) =>
    new Promise((resolve, reject) => {
      const patience = setTimeout(() => reject(new Error(`received only ${JSON.stringify(list)}`)), 20_000);
      const look = () => {
        const found = list.find(fits);
        if (!found) return waiting.push(look);
        clearTimeout(patience);
        resolve(found);
      };
      look();
    });
  const { capabilities: server } = await connection.sendRequest('initialize', {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities,
    initializationOptions: options,
  });
  await connection.sendNotification('initialized', {});
  const uri = (name) => pathToFileURL(join(folder, name)).href;
  const open = (name, text, languageId = 'python') =>
    connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: uri(name), languageId, version: 1, text },
    });
  const change = (name, version, ...contentChanges) =>
    connection.sendNotification('textDocument/didChange', {
      textDocument: { uri: uri(name), version },
      contentChanges,
    });
  const diagnostics = async (name, version = 1) =>
    (await until(received.diagnostics, (value) => value.uri === uri(name) && value.version === version)).diagnostics;
  const ask = (method, name, more) =>
    connection.sendRequest(method, { textDocument: { uri: uri(name) }, ...more });
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
    const code = await ended;
    connection.dispose();
    rmSync(folder, { recursive: true });
    return code;
  };
  /** Sends bytes without the client library. */
  const writeRaw = (text) => child.stdin.write(text);
  return { server, writeRaw, connection, folder, write, uri, open, change, diagnostics, ask, received, until, stop };
}

const range = (startLine, start, endLine, end) => ({
  start: { line: startLine, character: start },
  end: { line: endLine, character: end },
});

/** A text after the edits of an action. */
function edited(text, edits) {
  const lines = text.split('\n');
  const offset = ({ line, character }) => lines.slice(0, line).join('\n').length + (line ? 1 : 0) + character;
  return [...edits]
    .sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce((text, { range, newText }) => text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end)), text);
}

const CONF = 'import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "x"\n';

test('session: open, diagnostics, hover, quick fix, fix all, close, shutdown, exit', async () => {
  const session = await start({}, { workspace: { workspaceEdit: { documentChanges: true } } });
  assert.equal(session.server.positionEncoding, 'utf-16');
  assert.equal(session.server.textDocumentSync.change, lsp.TextDocumentSyncKind.Incremental);
  assert.deepEqual(session.server.codeActionProvider.codeActionKinds, ['quickfix', 'source.fixAll.hipward']);

  const text = `import pynvml\n${CONF}`;
  await session.open('a.py', text);
  const [nvml, conf] = await session.diagnostics('a.py');
  assert.deepEqual(nvml.range, range(0, 7, 0, 13));
  assert.equal(nvml.severity, lsp.DiagnosticSeverity.Error);
  assert.equal(nvml.source, 'hipward');
  assert.equal(nvml.code, 'HW101');
  assert.equal(nvml.codeDescription.href, 'http://127.0.0.1:8717/rules/pynvml/');
  assert.equal(conf.code, 'HW201');
  assert.equal(conf.severity, lsp.DiagnosticSeverity.Hint);

  const hover = await session.ask('textDocument/hover', 'a.py', { position: { line: 0, character: 9 } });
  assert.equal(hover.contents.kind, 'markdown');
  assert.match(hover.contents.value, /# pynvml \(HW101\)[\s\S]*## Why on ROCm/);
  assert.deepEqual(hover.range, nvml.range);
  assert.equal(await session.ask('textDocument/hover', 'a.py', { position: { line: 1, character: 1 } }), null);

  const context = { diagnostics: [], only: ['quickfix'] };
  const [quick] = await session.ask('textDocument/codeAction', 'a.py', { range: conf.range, context });
  assert.deepEqual(quick.diagnostics, [conf]);
  assert.equal(quick.isPreferred, true);
  const [change] = quick.edit.documentChanges;
  assert.deepEqual(change.textDocument, { uri: session.uri('a.py'), version: 1 });
  assert.equal(edited(text, change.edits), text.replace('_CUDA_', '_'));
  const [unsafe] = await session.ask('textDocument/codeAction', 'a.py', { range: nvml.range, context });
  assert.equal(unsafe.isPreferred, false);
  assert.match(unsafe.title, /\(unsafe\)$/);

  const all = await session.ask('textDocument/codeAction', 'a.py', {
    range: range(0, 0, 0, 0),
    context: { diagnostics: [], only: ['source.fixAll'] },
  });
  assert.deepEqual(all.map((action) => action.kind), ['source.fixAll.hipward']);
  assert.equal(edited(text, all[0].edit.documentChanges[0].edits), text.replace('_CUDA_', '_'));

  await session.connection.sendNotification('textDocument/didClose', { textDocument: { uri: session.uri('a.py') } });
  const closed = await session.until(session.received.diagnostics, (value) => value.version === undefined);
  assert.deepEqual(closed.diagnostics, []);
  assert.equal(await session.stop(), 0);
});

test('full and incremental changes are applied in the negotiated encoding', async () => {
  for (const [encodings, agreed, column] of [
    [undefined, 'utf-16', 9],
    [['utf-16'], 'utf-16', 9],
    [['utf-8', 'utf-16'], 'utf-8', 14],
  ]) {
    const session = await start({}, { general: { positionEncodings: encodings } });
    assert.equal(session.server.positionEncoding, agreed);
    await session.open('a.py', 'x = "é名🚀"\r\n');
    assert.deepEqual(await session.diagnostics('a.py'), []);
    // After the string, on its line: `; import pynvml`. Then a second part of the same message, in the new text.
    await session.change(
      'a.py',
      2,
      { range: range(0, column + 1, 0, column + 1), text: '; import pynvm' },
      { range: range(0, column + 15, 0, column + 15), text: 'l' },
    );
    const [found] = await session.diagnostics('a.py', 2);
    assert.deepEqual(found.range, range(0, column + 10, 0, column + 16), agreed);
    await session.change('a.py', 3, { range: range(0, 0, 1, 0), text: '' });
    assert.deepEqual(await session.diagnostics('a.py', 3), []);
    await session.change('a.py', 4, { text: '\n\nimport pynvml\n' });
    assert.equal((await session.diagnostics('a.py', 4))[0].range.start.line, 2);
    assert.equal(await session.stop(), 0);
  }
});

test('configuration applies and is read again when it changes', async () => {
  const capabilities = { workspace: { didChangeWatchedFiles: { dynamicRegistration: true } } };
  const files = {
    'pyproject.toml': '[tool.hipward]\nignore = ["pynvml"]\nrules = "team"\n',
    'team/acme.toml':
      '[[rule]]\nid = "ACME001"\nname = "acme"\nmessage = "Not here."\nlink = "https://wiki.example/acme"\nmatch.call = "acme.f"\n',
  };
  const session = await start(files, capabilities, { site: 'https://rocm.example/docs' });
  await session.until(session.received.registrations, () => true);
  await session.open('src/a.py', `import acme\nimport pynvml\nacme.f()\n${CONF}`);
  const [team, conf] = await session.diagnostics('src/a.py');
  assert.equal(team.code, 'ACME001');
  assert.equal(team.codeDescription.href, 'https://wiki.example/acme');
  assert.equal(conf.codeDescription.href, 'https://rocm.example/docs/rules/cuda-alloc-conf/');
  const hover = await session.ask('textDocument/hover', 'src/a.py', { position: team.range.start });
  assert.match(hover.contents.value, /Not here\.[\s\S]*<https:\/\/wiki\.example\/acme>/);

  const changed = async (text) => {
    session.write('pyproject.toml', text);
    session.received.diagnostics.length = 0;
    await session.connection.sendNotification('workspace/didChangeWatchedFiles', {
      changes: [{ uri: session.uri('pyproject.toml'), type: 2 }],
    });
  };
  await changed('[tool.hipward]\nselect = ["pynvml"]\n');
  assert.deepEqual((await session.diagnostics('src/a.py')).map((found) => found.code), ['HW101']);
  await changed('[tool.hipward]\nselekt = []\n');
  const { message } = await session.until(session.received.messages, () => true);
  assert.match(message, /pyproject\.toml:2: `tool\.hipward\.selekt`: unknown key/);
  assert.deepEqual(await session.diagnostics('src/a.py'), []);
  assert.equal(await session.stop(), 0);
});

test('header of a PyTorch extension is recognized by the setup.py above it', async () => {
  const capabilities = { workspace: { didChangeWatchedFiles: { dynamicRegistration: true } } };
  const setup = 'from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension("a", ["csrc/a.cu"])\n';
  const files = { 'setup.py': setup };
  const session = await start(files, capabilities);
  const { registrations } = await session.until(session.received.registrations, () => true);
  const patterns = registrations[0].registerOptions.watchers.map((watcher) => watcher.globPattern);
  assert.ok(patterns.includes('**/setup.py'), patterns.join(' '));
  await session.open('csrc/a.cuh', 'inline void f(void **p) { cudaMalloc(p, 4); }\n', 'cuda');
  const severities = async () => (await session.diagnostics('csrc/a.cuh')).map((found) => found.severity);
  // hipify renames it when the extension is built.
  assert.deepEqual(await severities(), [lsp.DiagnosticSeverity.Hint]);
  session.write('setup.py', 'from setuptools import setup\n');
  session.received.diagnostics.length = 0;
  await session.connection.sendNotification('workspace/didChangeWatchedFiles', {
    changes: [{ uri: session.uri('setup.py'), type: 2 }],
  });
  assert.deepEqual(await severities(), [lsp.DiagnosticSeverity.Error]);
  assert.equal(await session.stop(), 0);
});

test('unknown messages are ignored', async () => {
  const session = await start({});
  await session.open('notes.md', 'import pynvml\n', 'markdown');
  assert.deepEqual(await session.diagnostics('notes.md'), []);
  await assert.rejects(session.ask('textDocument/rename', 'notes.md', { position: {} }), { code: -32601 });
  await assert.rejects(session.ask('textDocument/hover', 'notes.md', { position: 'here' }), { code: -32602 });
  await session.connection.sendNotification('textDocument/didOpen', { nothing: true });
  await session.connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri: 'untitled:Untitled-1', languageId: 'python', version: 1, text: 'import pynvml\n' },
  });
  const untitled = await session.until(session.received.diagnostics, ({ uri }) => uri.startsWith('untitled:'));
  assert.equal(untitled.diagnostics[0].code, 'HW101');
  assert.equal(await session.stop(), 0);
});

const frame = (text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

test('invalid frame gets an error response and the session continues', async () => {
  const session = await start({});
  for (const [text, code] of [
    ['{"jsonrpc": "2.0", ', -32700],
    ['[]', -32600],
  ]) {
    session.received.errors.length = 0;
    session.writeRaw(frame(text));
    // The library reports a response without a request like this.
    assert.match(await session.until(session.received.errors, () => true), new RegExp(`without id[^]*${code}`));
  }
  await session.open('a.py', 'import pynvml\n');
  assert.equal((await session.diagnostics('a.py'))[0].code, 'HW101');
  assert.equal(await session.stop(), 0);
});

test('pending edits are checked once', async () => {
  const session = await start({});
  await session.open('a.py', 'import pynvml\n'.repeat(2000));
  await session.diagnostics('a.py');
  const last = 200;
  const edits = Array.from({ length: last - 1 }, (_, index) =>
    frame(
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'textDocument/didChange',
        params: {
          textDocument: { uri: session.uri('a.py'), version: index + 2 },
          contentChanges: [{ range: range(0, 0, 0, 0), text: '#' }],
        },
      }),
    ),
  );
  session.writeRaw(edits.join(''));
  await session.diagnostics('a.py', last);
  // One check, or a few on a busy machine, but not one per edit.
  assert.ok(session.received.diagnostics.length < 20, `${session.received.diagnostics.length} times`);
  assert.equal(await session.stop(), 0);
});
