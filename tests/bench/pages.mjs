// Pages per second of `hipward serve`, beside nginx with the same bytes as files. Needs wrk and nginx (Debian: wrk, nginx-light).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, run } from './process.mjs';
import { startServer } from '../support/server.mjs';

const paths = ['/', '/learn/baseline/honest-timing/', '/benchmark/'];
const ROUNDS = Number(process.env.ROUNDS ?? 3);

export default async function () {
  for (const [program, flag] of [
    ['wrk', '--version'],
    ['nginx', '-v'],
  ]) {
    if (!(await exists(program, flag))) throw new Error(`${program} is not installed; on Debian: apt-get install wrk nginx-light`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'hipward-pages-'));
  const server = await startServer();
  const nginx = await startNginx(folder, server.url);
  try {
    const rows = [];
    for (const path of paths) {
      const rates = { ours: [], theirs: [] };
      for (let round = 0; round < ROUNDS; round++) {
        rates.ours.push(await rate(server.url + path));
        rates.theirs.push(await rate(nginx.url + path));
      }
      const [ours, theirs] = [median(rates.ours), median(rates.theirs)];
      rows.push(
        { what: `pages per second, ${path}`, value: Math.round(ours), unit: '1/s', note: `wrk, 16 connections, median of ${ROUNDS}` },
        { what: `pages per second over nginx, ${path}`, value: ours / theirs, unit: '×', note: `nginx ${Math.round(theirs)} 1/s; goal 0.5` },
      );
    }
    return rows;
  } finally {
    nginx.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

function exists(program, flag) {
  return new Promise((resolve) => {
    spawn(program, [flag], { stdio: 'ignore' }).once('error', () => resolve(false)).once('close', () => resolve(true));
  });
}

async function rate(url) {
  // An answer with an error must not count as a page.
  const { text } = await run('wrk', ['--threads', '1', '--connections', '16', '--duration', '3s', url], { keep: true });
  if (text.includes('Non-2xx')) throw new Error(`${url} answered with errors`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)[1]);
}

/** nginx that serves the pages of a server as files. */
async function startNginx(folder, source) {
  // The workers of a root's nginx are another user.
  chmodSync(folder, 0o755);
  for (const path of paths) {
    const to = join(folder, 'root', path);
    mkdirSync(to, { recursive: true });
    writeFileSync(join(to, 'index.html'), await (await fetch(source + path)).text());
  }
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  // Else nginx creates folders of the system.
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  writeFileSync(
    config,
    `daemon off; worker_processes auto; pid ${folder}/pid; error_log stderr;
     events {}
     http {
       access_log off;
       ${temporary.join(' ')}
       server { listen 127.0.0.1:${port}; root ${folder}/root; index index.html; default_type text/html; }
     }`,
  );
  const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt++) {
    try {
      await fetch(url);
      break;
    } catch (error) {
      if (attempt > 50 || child.exitCode !== null) throw error;
      await sleep(100);
    }
  }
  return { url, stop: end };
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return port;
}
