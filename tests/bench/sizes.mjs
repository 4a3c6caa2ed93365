// Brotli sizes of what the browser loads, with their budgets. They are printed by the test that enforces the budgets.

import { run } from './process.mjs';
import { root } from '../support/server.mjs';

export default async function () {
  // The workspace's features, so that nothing is compiled twice.
  const build = ['--quiet', '--locked', '--workspace', '--features', 'hipward-site/ssr'];
  const test = ['test', ...build, '--test', 'static_site', '--', '--nocapture', 'budgets'];
  const { text } = await run('cargo', test, { keep: true, cwd: root });
  const lines = [...text.matchAll(/^(.+?)\s+([\d.]+) KB of\s+(\d+)$/gm)];
  if (lines.length === 0) throw new Error('the test of the budgets printed none');
  return lines.map(([, what, kb, budget]) => ({ what, value: Number(kb), unit: 'KB', note: `brotli; budget ${budget}` }));
}
