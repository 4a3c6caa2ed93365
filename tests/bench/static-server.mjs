// Serves a folder as a good static host does: brotli or gzip by what the client offers, made once, with long caching.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const types = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};

/** Returns the URL and a function that stops the server. */
export async function serveFolder(folder) {
  const cache = new Map();
  const read = (path) => {
    let file = join(folder, normalize(path));
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (!existsSync(file)) return undefined;
    const raw = readFileSync(file);
    return { raw, br: brotliCompressSync(raw), gzip: gzipSync(raw), type: types[extname(file)] };
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://host');
    if (!cache.has(pathname)) cache.set(pathname, read(decodeURIComponent(pathname)));
    const found = cache.get(pathname);
    if (!found) return response.writeHead(404).end();
    const offered = request.headers['accept-encoding'] ?? '';
    const encoding = ['br', 'gzip'].find((name) => offered.includes(name));
    const headers = { 'content-type': found.type ?? 'application/octet-stream', 'cache-control': 'max-age=31536000' };
    if (encoding) headers['content-encoding'] = encoding;
    response.writeHead(200, headers).end(found[encoding ?? 'raw']);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}
