// A team's own rules in the playground: reported and fixed like the built-in ones, with a link to the team's explanation.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { paste, showEditor } from '../support/editor.mjs';
import { startBrowser, startServer } from '../support/server.mjs';

const RULES = `[[rule]]
id = "ACME001"
name = "acme-softmax"
message = "acme.softmax is slow on CDNA."
link = "https://wiki.example/acme-softmax"
match.pattern = "acme.softmax($X, dim=$D)"

[rule.fix]
title = "Use torch.softmax"
replace = "torch.softmax($X, dim=$D)"
import = "torch"
applicability = "safe"

[[rule]]
id = "ACME002"
name = "acme-names"
message = "Acme's kernels are for NVIDIA."
match.package = "acme-kernels"
match.cuda = "acme::gemm"
`;

let folder;
let server;
let browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hipward-rules-'));
  writeFileSync(join(folder, 'acme.toml'), RULES);
  server = await startServer(['--rules', folder]);
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a finding of a team rule links to the page of the team, and its fix is applied', async () => {
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${server.url}/playground/`);
  await showEditor(page);
  await paste(page, 'import pynvml\nfrom acme import softmax\ny = softmax(x + 1, dim=-1)\n');
  const findings = page.getByRole('list', { name: /findings/i }).getByRole('listitem');
  await findings.filter({ hasText: 'acme.softmax is slow on CDNA.' }).waitFor();
  assert.equal(await findings.count(), 2);
  const links = await findings.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  assert.ok(links.includes('https://wiki.example/acme-softmax'), links.join(' '));
  assert.ok(links.includes('/rules/pynvml/'), links.join(' '));
  await findings.getByRole('button', { name: 'Use torch.softmax' }).click();
  await page.waitForFunction(() => document.querySelector('.cm-content').textContent.includes('torch.softmax(x + 1, dim=-1)'));
  assert.deepEqual(errors, []);
});

test('team rules apply to project files and CUDA C++', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/playground/`);
  await showEditor(page);
  const found = page.getByRole('list', { name: /findings/i }).getByRole('listitem').filter({ hasText: "Acme's kernels" });
  for (const [language, source] of [
    ['requirements', 'acme-kernels==1.2\n'],
    ['cuda-cpp', 'int x = acme::gemm(1);\n'],
  ]) {
    await page.getByLabel('Read as').selectOption(language);
    await paste(page, source);
    await found.waitFor();
    await paste(page, '\n');
    await found.waitFor({ state: 'detached' });
  }
});
