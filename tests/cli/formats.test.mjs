// Machine-readable output of `hipward check`, validated with the schemas: Hipward's for JSON, the official one for SARIF.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, require, root } from '../support/server.mjs';

const addFormats = require('ajv-formats');

const TEAM = `[[rule]]
id = "ACME001"
name = "acme"
message = "Not here."
link = "https://wiki.example/acme"
match.pattern = "acme.f($X)"
fix = { title = "Drop it", replace = "$X" }
`;

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-formats-'));
  writeFileSync(join(folder, 'ä b.py'), '# é\nimport pynvml\nimport acme\nacme.f(1)\n');
  writeFileSync(join(folder, 'half.py'), 'import apex\nclass Model(\n');
  writeFileSync(join(folder, 'zero.py'), 'x = 1\0\n');
  writeFileSync(join(folder, 'clean.py'), 'x = 1\n');
  writeFileSync(join(folder, 'acme.toml'), TEAM);
});

after(() => rmSync(folder, { recursive: true }));

/** Reports of a folder with unusual files and of every fixture of the analyzer. */
function check(format) {
  const paths = [folder, join(root, 'analyzer/tests/fixtures'), join(root, 'content')];
  const arguments_ = ['check', '--isolated', '--exit-zero', '--format', format, '--rules', folder, ...paths];
  return JSON.parse(execFileSync(hipward, arguments_, { maxBuffer: 256 << 20 }));
}

function assertValid(validate, value) {
  const valid = validate(value);
  assert.ok(valid, JSON.stringify(validate.errors?.slice(0, 3), undefined, 2));
}

test('JSON output matches the published schema', () => {
  const Ajv = require('ajv/dist/2020').default;
  const schema = JSON.parse(execFileSync(hipward, ['check', '--schema']));
  const validate = new Ajv({ allErrors: true }).compile(schema);
  const files = check('json');
  assertValid(validate, files);
  const findings = files.flatMap((file) => file.findings);
  assert.ok(findings.length > 100, `${findings.length} findings are too few to mean much`);
  assert.ok(findings.some((finding) => finding.link) && findings.some((finding) => finding.fix?.edits.length));
  // The schema must reject invalid reports.
  for (const spoil of [
    (file) => delete file.target,
    (file) => (file.colour = 'red'),
    (file) => (file.findings[0].severity = 'fatal'),
    (file) => (file.findings[0].span.start.line = 0),
  ]) {
    const spoilt = structuredClone(files.find((file) => file.findings.length));
    spoil(spoilt);
    assert.equal(validate([spoilt]), false);
  }
});

test('SARIF output matches the official schema', () => {
  const Ajv = require('ajv').default;
  const validate = addFormats(new Ajv({ allErrors: true, strict: false, unicodeRegExp: false })).compile(sarifSchema());
  const log = check('sarif');
  assertValid(validate, log);
  const [run] = log.runs;
  assert.ok(run.results.length > 100);
  for (const result of run.results) {
    assert.equal(run.tool.driver.rules[result.ruleIndex].id, result.ruleId);
  }
  assert.ok(run.results.some((result) => result.ruleId === 'ACME001'));
  const spoilt = structuredClone(log);
  spoilt.runs[0].results[0].level = 'fatal';
  assert.equal(validate(spoilt), false);
});

test('SARIF output without findings is valid', () => {
  const Ajv = require('ajv').default;
  const validate = addFormats(new Ajv({ strict: false, unicodeRegExp: false })).compile(sarifSchema());
  const { stdout } = spawnSync(hipward, ['check', '--format', 'sarif', join(folder, 'clean.py')]);
  const log = JSON.parse(stdout);
  assertValid(validate, log);
  assert.deepEqual(log.runs[0].results, []);
});

/** OASIS's schema, from the crate that is generated from it, in the version of Cargo.lock. Its patterns are not valid in strict mode. */
function sarifSchema() {
  const metadata = execFileSync('cargo', ['metadata', '--format-version=1', '--locked'], {
    cwd: root,
    maxBuffer: 256 << 20,
  });
  const crate = JSON.parse(metadata).packages.find(({ name }) => name === 'serde-sarif');
  const source = join(dirname(crate.manifest_path), 'src');
  assert.ok(readdirSync(source).includes('schema.json'));
  return JSON.parse(readFileSync(join(source, 'schema.json'), 'utf8'));
}
