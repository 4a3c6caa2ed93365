// Paste of a 1,000-line file to its diagnostics in the browser.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from './process.mjs';
import { showEditor } from '../support/editor.mjs';
import { root, startBrowser, startServer } from '../support/server.mjs';

// Real code, repeated to the requested length.
const source = readFileSync(join(root, 'content/01-port/01-device-abstraction/gpu_utils.py'), 'utf8');
const lines = source.split('\n');
const text = Array.from({ length: 1000 }, (_, i) => lines[i % lines.length]).join('\n');

export default async function () {
  const server = await startServer();
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}/playground/`);
    await showEditor(page);
    await page.locator('[data-region=findings] li').first().waitFor();
    // The last line alternates, so that each report differs from the previous one and is drawn.
    const times = [];
    for (let i = 0; i < 11; i++) {
      times.push(
        await page.evaluate(async (text) => {
          const view = document.querySelector('.cm-content');
          const list = document.querySelector('[data-region=findings]');
          const start = performance.now();
          const answered = new Promise((resolve) => {
            new MutationObserver((_, observer) => {
              observer.disconnect();
              resolve(performance.now() - start);
            }).observe(list, { childList: true, subtree: true, characterData: true });
          });
          view.focus();
          document.execCommand('selectAll');
          const data = new DataTransfer();
          data.setData('text/plain', text);
          view.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
          return answered;
        }, `${text}\nimport ${i % 2 ? 'pynvml' : 'apex'}\n`),
      );
    }
    const note = 'median of 11';
    return [{ what: 'paste of 1,000 lines to diagnostics', value: median(times), unit: 'ms', note }];
  } finally {
    await browser.close();
    await server.stop();
  }
}
