// Lighthouse on each type of page, and on one lesson beside the same lesson as mdBook, mkdocs-material and Starlight publish
// it. The first run installs them (mdBook is compiled: some minutes). `make bench PARTS=lighthouse` runs only this part.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildPeers, packages } from './peers/build.mjs';
import { median } from './process.mjs';
import { serveFolder } from './static-server.mjs';
import { finished, root, startBrowser, startServer } from '../support/server.mjs';

const rounds = Number(process.env.ROUNDS ?? 3);
const lesson = '/learn/baseline/honest-timing/';
const pages = {
  home: '/',
  course: '/learn/',
  lesson,
  'how-to': '/learn/how-to/debug/',
  rules: '/rules/',
  rule: '/rules/capability-gate/',
  'op page': '/ops/rmsnorm/',
  models: '/models/',
  reference: '/reference/hardware/',
  glossary: '/reference/glossary/',
  playground: '/playground/',
  'machine code': '/isa/',
  benchmark: '/benchmark/',
  jobs: '/jobs/',
};
const categories = ['performance', 'accessibility', 'best-practices', 'seo'];
const snippet = `import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.softmax(-1)

def get_inputs():
    return [torch.rand(64, 256)]

def get_init_inputs():
    return []
`;

export default async function () {
  // Lighthouse needs the port of the browser's protocol.
  const port = 9300 + Math.floor(Math.random() * 500);
  const { default: lighthouse } = await import(
    pathToFileURL(join(packages(), 'node_modules/lighthouse/core/index.js'))
  );
  const audit = async (url) => {
    const runs = [];
    for (let round = 0; round < rounds; round++) {
      const { lhr } = await lighthouse(url, { port, output: 'json', logLevel: 'silent', onlyCategories: categories });
      if (lhr.runtimeError) throw new Error(`${url}: ${lhr.runtimeError.message}`);
      const metric = (id) => lhr.audits[id].numericValue;
      runs.push({
        scores: categories.map((id) => Math.round(100 * lhr.categories[id].score)),
        bytes: metric('total-byte-weight'),
        paint: metric('largest-contentful-paint'),
        blocking: metric('total-blocking-time'),
        failed: Object.values(lhr.audits).flatMap(({ id, score, scoreDisplayMode }) =>
          scoreDisplayMode === 'binary' && score === 0 ? [id] : [],
        ),
      });
    }
    const middle = (read) => median(runs.map(read));
    return {
      scores: categories.map((_, index) => middle(({ scores }) => scores[index])),
      bytes: middle(({ bytes }) => bytes),
      paint: middle(({ paint }) => paint),
      blocking: middle(({ blocking }) => blocking),
      failed: runs[0].failed,
    };
  };

  const work = mkdtempSync(join(tmpdir(), 'hipward-peers-'));
  const peers = buildPeers(join(root, 'content/02-baseline/02-honest-timing'), work);
  const browser = await startBrowser([`--remote-debugging-port=${port}`]);
  const server = await startServer();
  const hosts = [];
  const rows = [];
  try {
    const types = { ...pages, job: await runJob(server.url) };
    for (const [name, path] of Object.entries(types)) rows.push(row(name, await audit(server.url + path)));
    for (const { name, folder, path } of peers) {
      const host = await serveFolder(folder);
      hosts.push(host);
      rows.push(row(`the lesson by ${name}`, await audit(host.url + path)));
    }
    return rows;
  } finally {
    for (const host of hosts) host.stop();
    await browser.close();
    await server.stop();
    rmSync(work, { recursive: true });
  }
}

function row(name, { scores, bytes, paint, blocking, failed }) {
  const others = `accessibility ${scores[1]}, best practices ${scores[2]}, SEO ${scores[3]}`;
  const times = `${(bytes / 1000).toFixed(0)} kB, LCP ${paint.toFixed(0)} ms, TBT ${blocking.toFixed(0)} ms`;
  const audits = failed.length > 0 ? `; failed: ${failed.join(', ')}` : '';
  return { what: `Lighthouse, ${name}`, value: scores[0], unit: 'performance', note: `${others}; ${times}${audits}` };
}

async function runJob(url) {
  const answer = await fetch(`${url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'softmax', code: snippet, variants: ['eager'] }),
  });
  const { id } = await answer.json();
  await finished(url, id);
  return `/jobs/${id}/`;
}
