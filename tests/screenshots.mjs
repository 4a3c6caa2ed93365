// Screenshots of every page type: node tests/screenshots.mjs DIR [PATH…]. Each page at 1440, 390 and 320 px, dark and light,
// as DIR/<page>-<width>-<scheme>.png, and once printed, as DIR/<page>-print.pdf. With paths, only these pages.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startBrowser, startServer } from './support/server.mjs';

const PAGES = [
  '/', '/learn/', '/learn/optimize/ladder/', '/learn/port/lanes/', '/playground/', '/benchmark/', '/jobs/', '/isa/', '/ops/',
  '/ops/rmsnorm/', '/models/', '/rules/', '/rules/pynvml/', '/reference/', '/reference/hardware/', '/reference/glossary/',
  '/no/such/page/',
];

const [out, ...chosen] = process.argv.slice(2);
if (!out) {
  console.error('Usage: node tests/screenshots.mjs DIR [PATH…]');
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
try {
  for (const path of chosen.length ? chosen : PAGES) {
    const name = path.split('/').filter(Boolean).join('-') || 'home';
    for (const colorScheme of ['dark', 'light']) {
      for (const width of [1440, 390, 320]) {
        const page = await browser.newPage({ viewport: { width, height: width > 1000 ? 900 : 800 }, colorScheme });
        await page.goto(server.url + path, { waitUntil: 'networkidle' });
        await page.screenshot({ path: join(out, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        if (width === 1440 && colorScheme === 'light') await page.pdf({ path: join(out, `${name}-print.pdf`) });
        await page.close();
      }
    }
    console.log(path);
  }
} finally {
  await browser.close();
  await server.stop();
}
