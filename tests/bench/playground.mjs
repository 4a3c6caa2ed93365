// Loading the playground: navigation to a text area that can be typed in, to the editor, to the findings, and the total
// blocking time of the main thread. `node tests/bench/playground.mjs HIPWARD [HIPWARD]` compares binaries in turns.

import { fileURLToPath } from 'node:url';
import { median } from './process.mjs';
import { hipward, startBrowser, startServer } from '../support/server.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 7);
/** CPU slowdown of the browser; Lighthouse uses 4. */
const SLOWDOWN = Number(process.env.SLOWDOWN ?? 1);

/** Runs in the page before its own scripts. */
function observe() {
  const times = (window.times = { long: [] });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) times.long.push({ startTime, duration });
  }).observe({ type: 'longtask', buffered: true });
  const marks = { area: 'textarea#code', editor: '.cm-content', findings: '[data-region=findings] li' };
  const look = () => {
    for (const [name, selector] of Object.entries(marks)) {
      if (!times[name] && document.querySelector(selector)) times[name] = performance.now();
    }
    if (!(times.editor && times.findings)) requestAnimationFrame(look);
  };
  look();
}

async function load(browser, url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(observe);
  if (SLOWDOWN > 1) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  await page.goto(`${url}/playground/`);
  // The editor is loaded when the pointer moves.
  await page.mouse.move(1, 1);
  await page.mouse.move(2, 2);
  await page.waitForFunction(() => window.times.editor && window.times.findings, undefined, { timeout: 120_000 });
  // Tasks that follow are part of loading too.
  await page.waitForTimeout(500);
  const found = await page.evaluate(() => ({
    ...window.times,
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  }));
  await context.close();
  const blocking = found.long.filter(({ startTime }) => startTime >= found.paint).reduce((sum, { duration }) => sum + duration - 50, 0);
  return { typing: Math.max(found.area, found.paint), editor: found.editor, findings: found.findings, blocking };
}

async function measure(binaries) {
  const browser = await startBrowser();
  const servers = [];
  try {
    for (const binary of binaries) servers.push(await startServer([], { binary }));
    const rows = binaries.map(() => []);
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [at, { url }] of servers.entries()) {
        const row = await load(browser, url);
        // The first round fills caches of the machine.
        if (round > 0) rows[at].push(row);
      }
    }
    return rows.map((row) => Object.fromEntries(Object.keys(row[0]).map((key) => [key, median(row.map((one) => one[key]))])));
  } finally {
    await browser.close();
    for (const server of servers) await server.stop();
  }
}

export default async function () {
  const [row] = await measure([hipward]);
  const note = `median of ${ROUNDS}; CPU slowdown ${SLOWDOWN}`;
  return [
    { what: 'playground: navigation to a text area to type in', value: row.typing, unit: 'ms', note },
    { what: 'playground: navigation to the editor', value: row.editor, unit: 'ms', note },
    { what: 'playground: navigation to the findings', value: row.findings, unit: 'ms', note },
    { what: 'playground: total blocking time', value: row.blocking, unit: 'ms', note },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const binaries = process.argv.length > 2 ? process.argv.slice(2) : [hipward];
  for (const [at, row] of (await measure(binaries)).entries()) {
    const times = Object.entries(row).map(([name, value]) => `${name} ${value.toFixed(0)} ms`);
    console.log(`${binaries[at]}: ${times.join(', ')}`);
  }
}
