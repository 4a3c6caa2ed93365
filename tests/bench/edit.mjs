// Characters typed into a 10,000-line file: the analyzer's module analyzes it again, beside a first analysis of the same text,
// and beside ruff's module with all of its rules on the same text and on 1,000 lines of it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ruffWasm } from './peers/build.mjs';
import { median } from './process.mjs';
import { assets, root } from '../support/server.mjs';

const rounds = 15;

export default async function () {
  const manifest = JSON.parse(readFileSync(join(assets, 'manifest.json'), 'utf8'));
  const analyzer = await import(join(assets, manifest['analyzer.js']));
  analyzer.initSync({ module: readFileSync(join(assets, manifest['analyzer_bg.wasm'])) });

  const file = readFileSync(join(root, 'content/01-port/01-device-abstraction/gpu_utils.py'), 'utf8').trimEnd();
  // Whole copies: the text has no syntax error.
  const copies = Math.ceil(10_000 / file.split('\n').length);
  const lines = Array(copies).fill(file).join('\n').split('\n');
  const text = `${lines.join('\n')}\n`;

  // About 1,000 lines, as they are pasted.
  const short = `${Array(Math.ceil(copies / 10)).fill(file).join('\n')}\n`;

  const require = createRequire(join(ruffWasm(), 'package.json'));
  const { Workspace, PositionEncoding } = require('@astral-sh/ruff-wasm-nodejs');
  const ruff = new Workspace({ lint: { select: ['ALL'] } }, PositionEncoding.Utf16);

  // In the middle of the file, at the end of a line of code.
  const middle = lines.findIndex((line, at) => at > 5_000 && /^ +return [\w.]+$/.test(line));
  if (middle < 0) throw new Error('The file has no line with a plain return.');
  const typed = (character) => [...lines.slice(0, middle), lines[middle] + character, ...lines.slice(middle + 1)].join('\n') + '\n';

  const time = (source) => {
    const request = JSON.stringify({ source });
    const start = performance.now();
    analyzer.analyze(request);
    return performance.now() - start;
  };
  const timeRuff = (source) => {
    const start = performance.now();
    ruff.check(source);
    return performance.now() - start;
  };
  const pasted = [];
  const pastedRuff = [];
  const fullRuff = [];
  const full = [];
  const again = [];
  const next = [];
  const wrong = [];
  for (let round = 0; round < rounds; round++) {
    time('');
    pasted.push(time(short));
    pastedRuff.push(timeRuff(short));
    time('');
    full.push(time(text));
    fullRuff.push(timeRuff(text));
    again.push(time(typed(String.fromCharCode(97 + round))));
    time(typed('xy'));
    next.push(time(typed('xyz')));
    // A syntax error, and a character after it.
    time(typed('('));
    wrong.push(time(typed(`(${String.fromCharCode(97 + round)}`)));
  }
  const note = `${lines.length} lines, ${(text.length / 1024).toFixed(0)} KB, wasm in Node, median of ${rounds}`;
  const shortNote = `${short.split('\n').length - 1} lines, wasm in Node, median of ${rounds}`;
  const version = `ruff ${Workspace.version()}, all rules`;
  return [
    { what: 'a paste', value: median(pasted), unit: 'ms', note: shortNote },
    { what: 'a paste, ruff-wasm', value: median(pastedRuff), unit: 'ms', note: `${version}, the same` },
    { what: 'a first analysis, ruff-wasm', value: median(fullRuff), unit: 'ms', note: `${version}, ${lines.length} lines` },
    { what: 'a first analysis', value: median(full), unit: 'ms', note },
    { what: 'after one typed character', value: median(again), unit: 'ms', note: 'the same' },
    { what: 'after the third typed character', value: median(next), unit: 'ms', note: 'the same' },
    { what: 'after one typed character, with a syntax error', value: median(wrong), unit: 'ms', note: 'the same' },
  ];
}
