// The npm package: packed, installed in a new folder, and used in Node, in a bundle, and from TypeScript.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { require, root } from '../support/server.mjs';

const esbuild = require('esbuild');

let folder;

const run = (program, arguments_) =>
  execFileSync(program, arguments_, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-npm-'));
  const built = join(folder, 'built');
  execFileSync(process.execPath, [join(root, 'analyzer/npm/build.mjs'), built]);
  run('npm', ['pack', '--silent', built]);
  rmSync(built, { recursive: true });
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  run('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', `./${tarball}`]);
});

after(() => rmSync(folder, { recursive: true, force: true }));

const SCRIPT = `
import { load } from 'hipward-analyzer';
const analyzer = await load(globalThis.wasm);
const source = 'import os\\nimport acme\\nos.environ["PYTORCH_CUDA_ALLOC_CONF"] = "é🚀"\\nacme.f()\\n';
const rules = [{ id: 'ACME001', name: 'acme', message: 'Not here.', match: { call: 'acme.f' } }];
const report = analyzer.analyze(source, { target: { arch: 'gfx950' }, rules });
const cut = ({ span }) => source.slice(span.start.utf16, span.end.utf16);
let refusal;
try { analyzer.analyze(source, { select: ['nothing'] }); } catch (error) { refusal = error.message; }
const cuda = '#include <cuda_runtime.h>\\nvoid wait() { cudaDeviceSynchronize(); }\\n';
const setup = { path: 'setup.py', source: 'from torch.utils.cpp_extension import CUDAExtension\\nCUDAExtension("wait", ["csrc/wait.cu"])\\n' };
const project = analyzer.project([setup, { path: 'csrc/wait.cu', source: cuda }, { path: 'x.bin', source: '' }]);
console.log(JSON.stringify({
  project: [project.files.map(({ path }) => path), project.summary.by_hipify > 0],
  extension: [true, false].map((pytorchExtension) =>
    analyzer.analyze(cuda, { language: 'cuda-cpp', pytorchExtension }).findings.some((one) => one.handled_by === 'hipify')),
  own: analyzer.analyze('import apex\\n', { firstPartyModules: ['apex'] }).findings.length,
  patch: analyzer.patch('a.py', 'x\\n', 'y\\n'),
  found: report.findings.map((finding) => [finding.rule, cut(finding)]),
  arch: report.target.arch,
  applied: analyzer.apply(source, [0], { rules }).applied,
  fixed: analyzer.fixAll(source, { upTo: 'unsafe' }).source === source.replace('_CUDA_', '_'),
  language: analyzer.language('', 'kernel.cu'),
  rules: analyzer.rules().length > 10,
  refusal,
}));
`;

const EXPECTED = {
  project: [['setup.py', 'csrc/wait.cu'], true],
  extension: [true, false],
  own: 0,
  patch: '--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n',
  found: [['cuda-alloc-conf', '"PYTORCH_CUDA_ALLOC_CONF"'], ['acme', 'acme.f']],
  arch: 'gfx950',
  applied: [0],
  fixed: true,
  language: 'cuda-cpp',
  rules: true,
  refusal: 'there is no rule `nothing`',
};

test('package works in Node', () => {
  const installed = readdirSync(join(folder, 'node_modules/hipward-analyzer')).sort();
  assert.deepEqual(installed, [
    'LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'analyzer.js', 'browser.js', 'glue.js', 'hipward.wasm', 'index.d.ts', 'node.js', 'package.json', 'report.d.ts',
  ]);
  writeFileSync(join(folder, 'use.js'), SCRIPT);
  assert.deepEqual(JSON.parse(run(process.execPath, ['use.js'])), EXPECTED);
});

test('browser bundle finds the module in its own folder', async () => {
  const out = join(folder, 'bundle');
  await esbuild.build({
    stdin: { contents: SCRIPT, resolveDir: folder },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    outfile: join(out, 'bundle.js'),
  });
  // Bundlers that support `new URL(…, import.meta.url)` copy the file; esbuild does not.
  cpSync(join(folder, 'node_modules/hipward-analyzer/hipward.wasm'), join(out, 'hipward.wasm'));
  const text = readFileSync(join(out, 'bundle.js'), 'utf8');
  assert.match(text, /new URL\("\.\/hipward\.wasm", import\.meta\.url\)/);
  // Node's fetch cannot read files, so the module is passed. A browser needs no such line.
  writeFileSync(
    join(out, 'run.mjs'),
    `import { readFileSync } from 'node:fs';\nglobalThis.wasm = readFileSync(new URL('./hipward.wasm', import.meta.url));\nawait import('./bundle.js');\n`,
  );
  assert.deepEqual(JSON.parse(run(process.execPath, ['bundle/run.mjs'])), EXPECTED);
});

test('examples of the README work', () => {
  const [, code] = readFileSync(join(folder, 'node_modules/hipward-analyzer/README.md'), 'utf8').match(/```js\n([\s\S]*?)```/);
  writeFileSync(join(folder, 'readme.js'), code);
  assert.match(run(process.execPath, ['readme.js']), /^2: cuda-alloc-conf: [\s\S]*"PYTORCH_ALLOC_CONF"/);
});

test('TypeScript checks calls against the types', () => {
  const tsc = join(root, 'site/node_modules/typescript/bin/tsc');
  const check = (code) => {
    mkdirSync(join(folder, 'types'), { recursive: true });
    writeFileSync(join(folder, 'types/use.ts'), code);
    try {
      run(process.execPath, [tsc, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom', 'types/use.ts']);
      return '';
    } catch (error) {
      return error.stdout;
    }
  };
  const use = `
    import { load, type Finding, type Report } from 'hipward-analyzer';
    const analyzer = await load(new URL('./x.wasm', import.meta.url));
    const report: Report = analyzer.analyze('', { target: { arch: 'gfx942' }, select: ['HW1'] as const });
    export const first: Finding | undefined = report.findings[0];
    export const lines: string[] = analyzer.diff('a', 'b').map((line) => line.text);
    export const left: number = analyzer.project([{ path: 'a.py', source: '' }]).summary.by_you;
    export const link: string | null | undefined = first?.link;
  `;
  assert.equal(check(use), '');
  assert.match(check(use.replace("'gfx942'", "'sm_90'")), /sm_90/);
  assert.match(check(use.replace('.findings[0]', '.finding[0]')), /finding/);
});

/** The types list every field of a report, and no other. */
test('types list all fields of a report', () => {
  const types = readFileSync(join(root, 'analyzer/npm/report.d.ts'), 'utf8');
  const schema = JSON.parse(readFileSync(join(root, 'analyzer/src/output/report.schema.json'), 'utf8'));
  const fields = (name) => {
    const [, body] = types.match(new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`));
    return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field]) => field).sort();
  };
  for (const name of ['Finding', 'Fix', 'Position', 'Note', 'Target']) {
    assert.deepEqual(fields(name), Object.keys(schema.$defs[name].properties).sort(), name);
  }
  const { path, ...report } = schema.$defs.File.properties;
  assert.ok(path);
  assert.deepEqual(fields('Report'), Object.keys(report).sort());
});

/** The module lists all keys in the error for an unknown key. The types must have the same keys. */
test('types list all fields of requests and team rules', () => {
  writeFileSync(join(folder, 'keys.js'), `
import { load } from 'hipward-analyzer';
const analyzer = await load();
const refusal = (options) => { try { analyzer.analyze('', options); } catch (error) { return error.message; } };
const rule = (match) => refusal({ rules: [{ id: 'ACME001', name: 'acme', message: 'Not here.', match }] });
const version = refusal({ target: { rocm: 'seven' } });
console.log(JSON.stringify([refusal({ nothing: 1 }), rule({ nothing: 'x' }), version]));
`);
  const [options, match, version] = JSON.parse(run(process.execPath, ['keys.js'])).map((text) => text.replace(/^.*(?:there are|expected one of) | *\.$/g, '').split(', '));
  const types = readFileSync(join(root, 'analyzer/npm/index.d.ts'), 'utf8');
  const optionFields = ['ProjectOptions', 'Options extends ProjectOptions']
    .map((name) => types.match(new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`))[1])
    .join('\n');
  const [, matchFields] = types.match(/ {2}match: \{\n([\s\S]*?)\n {2}\};/);
  // JavaScript's names are camelCase.
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const names = (text) => [...text.matchAll(/^ +(\w+)\??:/gm)].map(([, name]) => snake(name)).sort();
  // Arguments of other functions.
  const elsewhere = ['source', 'path', 'indices', 'up_to'];
  assert.deepEqual(names(optionFields), options.filter((name) => !elsewhere.includes(name)).sort());
  assert.deepEqual(names(matchFields), match.sort());
  assert.match(version.join(), /`seven` is not a version/);
});
