// Speed and size on this machine, as one table. Not tests: clocks differ between machines.
//
// `make bench` calls it. Each part gives rows {what, value, unit, note?}; with names as arguments only those parts run.
// Progress goes to standard error, the table to standard output.

import { setTimeout as sleep } from 'node:timers/promises';
import { cpus } from 'node:os';
import sizes from './sizes.mjs';
import analyzer from './analyzer.mjs';
import throughput from './throughput.mjs';
import cuda from './cuda.mjs';
import edit from './edit.mjs';
import pages from './pages.mjs';
import paste from './paste.mjs';
import playground from './playground.mjs';
import emulator from './emulator.mjs';
import runner from './runner.mjs';
import load from './load.mjs';
import fleet from './fleet.mjs';
import lighthouse from './lighthouse.mjs';

const parts = { sizes, analyzer, throughput, cuda, edit, paste, playground, emulator, pages, runner, load, fleet, lighthouse };
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`there is no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}

// Time limit of a part. The other parts are still measured.
const mostMinutes = 15;

const others = await busyShare();
const rows = [];
let failed = false;
for (const [name, measure] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.error(`bench: ${name} …`);
  try {
    for (const row of await inTime(measure())) rows.push({ part: name, ...row });
  } catch (error) {
    failed = true;
    console.error(error);
    rows.push({ part: name, what: 'not measured', note: error.message.split('\n')[0] });
  }
}

const [cpu] = cpus();
console.log(`${cpus().length} × ${cpu.model.trim()}; others took ${Math.round(100 * others)} % of it before it began`);
if (others > 0.1) console.log('The machine was busy: the times are too long, and comparisons are rough.');
console.log('\n' + table(['Part', 'What', 'Value', 'Unit', 'How'], rows.map(cells)));
// Also ends the child processes of a part that ran into the limit.
process.exit(failed ? 1 : 0);

// Share of the processors that other programs use. The load average would still include the build.
async function busyShare() {
  const sums = () => {
    const times = cpus().map((one) => one.times);
    const sum = (pick) => times.reduce((total, time) => total + pick(time), 0);
    return { idle: sum((time) => time.idle), all: sum((time) => time.user + time.nice + time.sys + time.irq + time.idle) };
  };
  const before = sums();
  await sleep(2000);
  const after = sums();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

function inTime(part) {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`it took more than ${mostMinutes} minutes`));
    const timer = setTimeout(late, mostMinutes * 60_000);
    part.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function cells({ part, what, value, unit, note }) {
  return [part, what, value === undefined ? '–' : digits(value), unit ?? '', note ?? ''];
}

// Three significant digits, and at least all digits before the decimal point.
function digits(value) {
  if (Number.isInteger(value)) return String(value);
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 6));
}

// A Markdown table with aligned columns.
function table(head, rows) {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, i) => (i === 2 ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => '-'.repeat(width + 1) + (i === 2 ? ':' : '-')).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
