// The configurations for Neovim and Helix. Neovim runs headless with `hipward lsp`; Helix is in no registry, so its file is checked
// against what the server accepts.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, root } from '../support/server.mjs';

// `NVIM` names another Neovim: Debian 12 has 0.7, which has no `vim.lsp.config`.
const nvim = process.env.NVIM || 'nvim';
const lesson = readFileSync(join(root, 'content/06-team/01-keep-it-ported/lesson.md'), 'utf8');

let folder;
let environment;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-editors-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(hipward, join(bin, 'hipward'));
  const home = (name) => join(folder, 'home', name);
  environment = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home(''),
    XDG_CONFIG_HOME: home('config'),
    XDG_DATA_HOME: home('data'),
    XDG_STATE_HOME: home('state'),
    XDG_CACHE_HOME: home('cache'),
  };
  delete environment.NVIM;
});

after(() => rmSync(folder, { recursive: true, force: true }));

// What a user does in Neovim: waits for the diagnostics, and applies the first quick fix of the line.
const SESSION = `
local function diagnostics() return vim.diagnostic.get(0) end
assert(vim.wait(20000, function() return #diagnostics() > 0 end, 20), "no diagnostics")
local found = diagnostics()[1]
local line = found.lnum
local position = { line = line, character = 0 }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", {
  textDocument = { uri = vim.uri_from_bufnr(0) },
  range = { start = position, ["end"] = { line = line + 1, character = 0 } },
  context = { diagnostics = {}, only = { "quickfix" } },
}, 20000)
local _, answer = next(answers)
local action = answer.result[1] or {}
if action.edit then vim.lsp.util.apply_workspace_edit(action.edit, "utf-16") end
local file = io.open(vim.env.ANSWER, "w")
file:write(vim.json.encode({
  code = found.code, source = found.source, line = line, severity = found.severity,
  title = action.title, text = vim.api.nvim_buf_get_lines(0, 0, -1, false),
}))
file:close()
`;

/** Opens a file in a new Neovim, which loads its runtime files, and returns what the session wrote. */
function session(name, text, ...options) {
  const project = mkdtempSync(join(folder, 'project-'));
  const file = join(project, name);
  writeFileSync(file, text);
  const script = join(project, 'session.lua');
  writeFileSync(script, SESSION);
  const answer = join(project, 'answer.json');
  const words = ['--headless', '-n', '-i', 'NONE', ...options, file, '-c', `luafile ${script}`, '-c', 'qall!'];
  const { status, stderr } = spawnSync(nvim, words, {
    cwd: project,
    encoding: 'utf8',
    env: { ...environment, ANSWER: answer },
    timeout: 60_000,
  });
  let written;
  try {
    written = readFileSync(answer, 'utf8');
  } catch {
    assert.fail(`Neovim wrote no answer (status ${status}): ${stderr}`);
  }
  return JSON.parse(written);
}

const CONF = 'import os\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "x"\n';

const fixed = {
  code: 'HW201',
  source: 'hipward',
  line: 1,
  title: 'Rename it to PYTORCH_ALLOC_CONF',
  text: ['import os', 'os.environ["PYTORCH_ALLOC_CONF"] = "x"'],
};

/** Whether this Neovim has `vim.lsp.config`. */
function hasConfig() {
  const [, major, minor] = execFileSync(nvim, ['--version'], { encoding: 'utf8' }).match(/NVIM v(\d+)\.(\d+)/);
  return Number(major) > 0 || Number(minor) >= 11;
}

test('Neovim with the plugin shows diagnostics and applies a quick fix', { timeout: 120_000 }, () => {
  const plugin = join(root, 'analyzer/editors/neovim');
  const { severity, ...answer } = session('a.py', CONF, '--cmd', `set runtimepath+=${plugin}`);
  assert.deepEqual(answer, fixed);
  assert.equal(severity, 4, 'information of the analyzer is a hint');
  const cmake = session('CMakeLists.txt', 'find_package(CUDA)\n', '--cmd', `set runtimepath+=${plugin}`);
  assert.equal(cmake.source, 'hipward');
});

test("Neovim with the lesson's configuration does the same", { timeout: 120_000 }, (context) => {
  if (!hasConfig()) return context.skip('this Neovim has no vim.lsp.config');
  const [, lua] = lesson.match(/```lua\n([\s\S]+?)```/);
  const file = join(folder, 'init.lua');
  writeFileSync(file, lua);
  const { severity: _, ...answer } = session('a.py', CONF, '-u', file);
  assert.deepEqual(answer, fixed);
});

test('file for Helix names the server for languages of Helix', async () => {
  const file = join(root, 'analyzer/editors/helix/languages.toml');
  const read = 'import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], "rb"))))';
  const { language, 'language-server': servers } = JSON.parse(execFileSync('python3', ['-c', read, file], { encoding: 'utf8' }));
  assert.deepEqual(Object.keys(servers), ['hipward']);
  for (const entry of language) {
    assert.deepEqual(Object.keys(entry), ['name', 'language-servers']);
    assert.equal(entry['language-servers'].at(-1), 'hipward');
  }
  // The command starts the server.
  const { command, args } = servers.hipward;
  const messages = [
    { id: 1, method: 'initialize', params: { capabilities: {} } },
    { method: 'initialized', params: {} },
    { id: 2, method: 'shutdown' },
    { method: 'exit' },
  ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }));
  const input = messages.map((message) => `Content-Length: ${message.length}\r\n\r\n${message}`).join('');
  const { stdout, status } = spawnSync(command, args, { encoding: 'utf8', env: environment, input, timeout: 20_000 });
  assert.equal(status, 0);
  assert.match(stdout, /"serverInfo":\{"name":"hipward"/);
  // The lesson shows the part for Python.
  const [, shown] = lesson.match(/```toml\n# languages\.toml\n([\s\S]+?)```/);
  assert.ok(readFileSync(file, 'utf8').includes(shown.trimEnd()), shown);
});
