// The Visual Studio Code extension, packaged by vsce, and loaded with a small replacement of the editor's interface.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { hipward, require as siteRequire, root } from '../support/server.mjs';

const source = join(root, 'analyzer/editors/vscode');
let folder;
let extension;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-vscode-'));
  const build = join(folder, 'build');
  cpSync(source, build, { recursive: true, filter: (path) => !/node_modules|dist/.test(path.slice(source.length)) });
  cpSync(join(root, 'LICENSE-MIT'), join(build, 'LICENSE-MIT'));
  const run = (program, ...words) => execFileSync(program, words, { cwd: build, encoding: 'utf8', stdio: 'pipe' });
  run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error');
  const packed = join(folder, 'hipward.vsix');
  run('npx', 'vsce', 'package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '-o', packed);
  const { unzipSync } = siteRequire('fflate');
  for (const [name, bytes] of Object.entries(unzipSync(readFileSync(packed)))) {
    const path = join(folder, 'installed', name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, bytes);
  }
  extension = join(folder, 'installed/extension');
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** Anything: a class, a function and an object, whose members are the same. */
function anything(members = {}) {
  const target = class {};
  const disposable = { dispose() {} };
  return new Proxy(target, {
    get: (_, name) => {
      if (name in members) return members[name];
      if (name === 'prototype') return target.prototype;
      if (typeof name === 'symbol' || name === 'then') return undefined;
      return (members[name] = anything());
    },
    apply: () => disposable,
  });
}

test('packaged extension starts the server and shows its diagnostics', { timeout: 60_000 }, async () => {
  assert.equal(existsSync(join(extension, 'node_modules')), false);
  const shown = [];
  let receive;
  const diagnostics = new Promise((resolve) => (receive = resolve));
  const file = join(folder, 'a.py');
  const uri = { scheme: 'file', path: file, fsPath: file, toString: () => pathToFileURL(file).href };
  const document = { uri, languageId: 'python', version: 1, isClosed: false, getText: () => 'import pynvml\n' };
  class Collection {
    set(where, found) {
      receive({ where: String(where), found });
    }
    delete() {}
    clear() {}
    dispose() {}
  }
  class Emitter {
    constructor() {
      this.event = () => ({ dispose() {} });
    }
    fire() {}
    dispose() {}
  }
  class Position {
    constructor(line, character) {
      Object.assign(this, { line, character });
    }
  }
  class Range {
    constructor(...ends) {
      this.ends = ends;
    }
  }
  class Diagnostic {
    constructor(range, message, severity) {
      Object.assign(this, { range, message, severity });
    }
  }
  class CancellationTokenSource {
    token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
    cancel() {}
    dispose() {}
  }
  const kind = { append: () => kind };
  const vscode = anything({
    CodeActionKind: anything({ Empty: kind, QuickFix: kind, Refactor: kind }),
    CancellationTokenSource,
    Position,
    Range,
    Diagnostic,
    EventEmitter: Emitter,
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    version: '1.91.0',
    Uri: { parse: () => uri, file: () => uri },
    env: anything({ language: 'en', appName: 'test' }),
    languages: anything({
      createDiagnosticCollection: () => new Collection(),
      match: (selector, { languageId }) => (selector.language === languageId || [selector].flat().some((one) => one.language === languageId) ? 1 : 0),
    }),
    window: anything({
      activeTextEditor: undefined,
      visibleTextEditors: [],
      tabGroups: anything({ all: [] }),
      createOutputChannel: () => anything(),
      showErrorMessage: async (message) => void shown.push(message),
      showWarningMessage: async (message) => void shown.push(message),
    }),
    workspace: anything({
      workspaceFolders: undefined,
      textDocuments: [document],
      notebookDocuments: [],
      getConfiguration: () => ({ get: (name, other) => (name === 'path' ? hipward : other) }),
    }),
  });
  const require = createRequire(join(extension, 'package.json'));
  const resolve = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : resolve(name, ...rest));
  let loaded;
  try {
    loaded = require(join(extension, 'dist/extension.js'));
  } finally {
    Module._load = resolve;
  }
  await loaded.activate({ subscriptions: [] });
  const { where, found } = await diagnostics;
  await loaded.deactivate();
  assert.deepEqual(shown, []);
  assert.equal(where, uri.toString());
  assert.match(found[0].message, /pynvml|NVIDIA/);
});

test('settings become arguments of the server', () => {
  const require = createRequire(import.meta.url);
  const { languages, serverCommand } = require(join(source, 'server.js'));
  const command = (settings) => serverCommand((name) => settings[name]);
  assert.deepEqual(command({}), { command: 'hipward', args: ['lsp'] });
  assert.deepEqual(command({ path: '/opt/hipward', rules: 'team', site: 'http://x/' }), {
    command: '/opt/hipward',
    args: ['lsp', '--rules', 'team', '--site', 'http://x/'],
  });
  const { activationEvents } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  assert.deepEqual(activationEvents, languages.map((language) => `onLanguage:${language}`));
});
