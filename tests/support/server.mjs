// A real `hipward serve` for scripts in JavaScript: started on a free port, ended by its process id.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const hipward = process.env.HIPWARD ?? join(root, 'target/debug/hipward');
/** What the browser loads. */
export const assets = process.env.HIPWARD_ASSETS ?? join(root, 'target/assets');
export const python =
  process.env.HIPWARD_PYTHON ?? join(process.env.HOME, '.cache/hipward/python-current/bin/python');

// The test tools are in the same lock file as the site's packages.
export const require = createRequire(join(root, 'site/package.json'));

/**
 * Starts a server with a data folder of its own. It runs code without a token, unless `token` is set. Returns its URL, the
 * URL with the token, and a function that stops it. With `data`, a folder of the caller, the data outlives the server;
 * `bind` is its address.
 */
export async function startServer(flags = [], { token = false, binary = hipward, data: given, bind = '127.0.0.1:0' } = {}) {
  const data = given ?? mkdtempSync(join(tmpdir(), 'hipward-data-'));
  const access = token ? [] : ['--no-token', '--minimum-isolation', 'limits'];
  const args = ['serve', '--bind', bind, '--data', data, '--python', python, ...access, ...flags];
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const entry = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`hipward serve ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', (line) => {
      const found = line.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
      else reject(new Error(`no address in ${JSON.stringify(line)}`));
    });
  });
  const url = new URL(entry).origin;
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.off('exit', end);
    end();
    const forced = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(forced);
    // The supervisors may be removing files at the same time.
    if (given === undefined) rmSync(data, { recursive: true, force: true, maxRetries: 10 });
  };
  return { url, entry, stop };
}

/** Debian's Chromium, headless, without connections to other machines. */
export async function startBrowser(flags = []) {
  const { chromium } = require('playwright-core');
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...flags,
    ],
  });
}

/** The job's final state, polled. */
export async function finished(url, id, seconds = 240) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const job = await (await fetch(`${url}/api/v1/jobs/${id}`)).json();
    if (['done', 'failed', 'cancelled'].includes(job.state)) return job.state;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`job ${id} did not end in ${seconds} s`);
}
