// The analyzer reports the same in a browser and on the command line: the wasm module, run in Node, is compared with
// `hipward check --format json`, file by file and field by field.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { isPlainPython } from '../../site/js/plain-python.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const hipward = process.env.HIPWARD ?? join(root, 'target/debug/hipward');
const assets = process.env.HIPWARD_ASSETS ?? join(root, 'target/assets');
const manifest = JSON.parse(readFileSync(join(assets, 'manifest.json'), 'utf8'));

async function load(name) {
  const module = await import(join(assets, manifest[`${name}.js`]));
  module.initSync({ module: readFileSync(join(assets, manifest[`${name}_bg.wasm`])) });
  return module;
}
const analyzer = await load('analyzer');
const everyLanguage = await load('analyzer-all');
// The same choice as in the worker.
const moduleFor = (source) => (isPlainPython(source) ? analyzer : everyLanguage);

function pythonFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

// Texts for positions and error recovery; the real files are for the rules.
const awkward = {
  'empty.py': '',
  'crlf.py': 'import pynvml\r\nprint("é")\r\nimport apex\r\n',
  'wide.py': '名前 = "漢字 😀"\nimport pynvml  # 😀\nпривет = pynvml.nvmlInit()\n',
  'tabs.py': 'if True:\n\timport apex\n',
  'half.py': 'import torch\nclass Model(torch.nn.Module):\n    def forward(self, x',
  'prose.py': 'Dear all, this is not Python; it is a letter. Yours, etc.\n',
  'null.py': 'import pynvml\n\0\0\nimport apex\n',
  'byte-order-mark.py': '\ufeffimport pynvml\n',
};

test('the browser module and the command line report the same', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hipward-parity-'));
  try {
    for (const [name, text] of Object.entries(awkward)) writeFileSync(join(folder, name), text);
    const files = [
      ...pythonFiles(folder),
      ...pythonFiles(join(root, 'content')),
      ...pythonFiles(join(root, 'kernels')),
      ...pythonFiles(join(root, 'analyzer')),
    ];
    assert.ok(files.length > 40, `a corpus of ${files.length} files is too small to mean much`);
    const output = execFileSync(hipward, ['check', '--format', 'json', '--exit-zero', ...files], {
      maxBuffer: 256 << 20,
    });
    const native = new Map(JSON.parse(output).map(({ path, ...report }) => [path, report]));
    let findings = 0;
    for (const file of files) {
      const source = readFileSync(file, 'utf8');
      const browser = JSON.parse(moduleFor(source).analyze(JSON.stringify({ source })));
      findings += browser.findings.length;
      assert.deepEqual(browser, native.get(file), file);
    }
    assert.ok(findings > 30, `only ${findings} findings were compared`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a UTF-16 offset from the browser module cuts the source where the finding is', () => {
  const source = awkward['wide.py'];
  const report = JSON.parse(analyzer.analyze(JSON.stringify({ source })));
  const found = report.findings.find((finding) => finding.rule === 'pynvml');
  const { start, end } = found.span;
  assert.match(source.slice(start.utf16, end.utf16), /pynvml/);
});

test('a request that makes no sense is an error with a sentence, and the module lives on', () => {
  assert.throws(() => analyzer.analyze('{'), /JSON|request/i);
  assert.throws(() => analyzer.apply(JSON.stringify({ indices: [0] })), /source/);
  const report = JSON.parse(analyzer.analyze(JSON.stringify({ source: 'import pynvml\n' })));
  assert.equal(report.findings[0].rule, 'pynvml');
});
