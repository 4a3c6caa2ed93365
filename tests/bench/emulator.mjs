// Speed of the emulator: the same launch native on one core and as the browser's module in Node, what a reader waits for,
// and tinygrad's emulator on the same machine code.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fastest, run } from './process.mjs';
import { assets, hipward, python, root } from '../support/server.mjs';

const ROUNDS = 3;
const ROWS = 1024;
const WIDTH = 4096;
// Rows for the emulator of tinygrad, which takes some milliseconds for each.
const TINYGRAD_ROWS = 64;

// RMSNorm of the package on CPU tensors, as the tests run it. The first call compiles.
const rmsnorm = `
import time, torch
from hipward_kernels.emulate import triton_on
from hipward_kernels.ops import rmsnorm
torch.manual_seed(0)
x, weight = torch.randn(${ROWS}, ${WIDTH}).bfloat16(), torch.randn(${WIDTH}).bfloat16()
times = []
with triton_on("gfx942") as reports, torch.no_grad():
    for _ in range(${ROUNDS + 1}):
        start = time.perf_counter()
        y = rmsnorm(x, weight, 1e-5)
        times.append(time.perf_counter() - start)
wanted = torch.nn.functional.rms_norm(x.double(), (${WIDTH},), weight.double(), 1e-5)
assert len(reports) == len(times) and not any(report.findings for report in reports)
torch.testing.assert_close(y.double(), wanted, rtol=1.6e-2, atol=1e-2)
print(min(times[1:]))`;

export default async function () {
  const launches = JSON.parse(readFileSync(join(root, 'kernels/results/launches.json'), 'utf8')).launches;
  const recorded = (name) => ({ ...launches.find((launch) => launch.name === name), budget: 2 ** 40 });
  const large = withRows(recorded('rmsnorm'), ROWS);
  const folder = mkdtempSync(join(tmpdir(), 'hipward-emulator-'));
  try {
    const module = await load();
    const softmax = await inModule(module, recorded('softmax'));
    const native = await onOneCore(large, folder);
    let wasm;
    for (let round = 0; round < ROUNDS; round++) {
      const one = await inModule(module, large);
      if (!wasm || one.seconds < wasm.seconds) wasm = one;
    }
    const op = await run(python, ['-c', rmsnorm], { keep: true, cwd: join(root, 'kernels'), env: { HIPWARD_EMULATE: hipward } });
    const launch = `RMSNorm ${ROWS}×${WIDTH} bf16, gfx942, best of ${ROUNDS}`;
    const rate = (what, { lanes, seconds }, note) => ({ what, value: lanes / seconds / 1e6, unit: 'M/s', note });
    return [
      rate('lane-instructions, native', native, `${launch}; one core, with start and files; goal 300`),
      rate('lane-instructions, wasm', wasm, `the same in Node ${process.version}; goal a third of native`),
      { what: 'wasm over native', value: wasm.lanes / wasm.seconds / (native.lanes / native.seconds), unit: '×', note: 'goal 0.33' },
      { what: `RMSNorm ${ROWS}×${WIDTH} bf16`, value: Number(op.text), unit: 's', note: `the op on CPU tensors, ${cpus().length} cores; goal 1` },
      { what: 'softmax 64×64, wasm', value: 1000 * softmax.seconds, unit: 'ms', note: 'first launch of the module, with its view; goal 200' },
      ...(await tinygrad(native.seconds / ROWS)),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A recorded launch on as many rows, one workgroup each. */
function withRows(launch, rows) {
  const sized = (argument) => (argument.count > WIDTH ? { ...argument, count: rows * WIDTH } : argument);
  return { ...launch, grid: [rows, 1, 1], arguments: launch.arguments.map(sized) };
}

/** Seconds and lane-instructions of a launch by `hipward emulate-launch`, on one core. */
async function onOneCore(launch, folder) {
  const listing = join(folder, 'listing.s');
  writeFileSync(listing, launch.listing);
  const buffers = [];
  const values = launch.arguments.map((argument) => {
    if (argument.count === undefined) return { value: bytesOf(argument).toString('hex') };
    const file = join(folder, `${argument.name}.bin`);
    writeFileSync(file, contents(argument));
    buffers.push({ name: argument.name, file, uninitialized: argument.fill === 'unwritten' });
    return { address: [buffers.length - 1, 0] };
  });
  const declared = Number(/\.amdhsa_group_segment_fixed_size\s+(\d+)/.exec(launch.listing)[1]);
  const { grid, workgroup, budget, lds } = launch;
  const input = JSON.stringify({ listing, kernel: null, grid, workgroup, budget, lds: lds - declared, buffers, arguments: values });
  const { seconds, text } = await fastest(ROUNDS, 'taskset', ['--cpu-list', '0', hipward, 'emulate-launch'], { keep: true, input });
  const { counts, error, findings } = JSON.parse(text);
  if (error || findings.length > 0) throw new Error(`the launch ended with ${JSON.stringify(error ?? findings[0])}`);
  return { seconds, lanes: counts.active_lanes };
}

/** The bytes of a value. */
function bytesOf({ type, value }) {
  const bytes = Buffer.alloc(type === null ? 8 : 4);
  if (type === 'i32') bytes.writeInt32LE(Number(value));
  else if (type === 'f32') bytes.writeFloatLE(Number(value));
  return bytes;
}

/** bfloat16 numbers: ones, or spread from -1 to 1. */
function contents({ count, fill }) {
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  const numbers = new Uint16Array(count);
  for (let at = 0; at < count; at++) {
    float[0] = fill === 'ones' ? 1 : ((at * 7919) % 2000) / 1000 - 1;
    numbers[at] = bits[0] >> 16;
  }
  return numbers;
}

/** The browser's module. */
async function load() {
  const manifest = JSON.parse(readFileSync(join(assets, 'manifest.json'), 'utf8'));
  const module = await import(pathToFileURL(join(assets, manifest['emulator.js'])));
  module.initSync({ module: readFileSync(join(assets, manifest['emulator_bg.wasm'])) });
  return module;
}

/** Seconds and lane-instructions of a launch in the browser's module, with the view that the page shows at its end. */
async function inModule(module, launch) {
  const start = performance.now();
  module.call('start', JSON.stringify(launch));
  const { error, findings, counts } = JSON.parse(module.call('go', JSON.stringify({ to: 'end' })));
  const seconds = (performance.now() - start) / 1000;
  if (error || findings.length > 0) throw new Error(`the launch ended with ${error ?? JSON.stringify(findings[0])}`);
  return { seconds, lanes: counts.lanes[0] };
}

/** tinygrad's emulator on the same code. It is in tinygrad's repository, not in its package. */
async function tinygrad(ours) {
  const checkout = process.env.HIPWARD_TINYGRAD;
  if (!checkout) {
    return [{ what: "tinygrad's emulator", note: 'not measured: set HIPWARD_TINYGRAD to a checkout of tinygrad' }];
  }
  const script = join(root, 'tests/bench/peers/tinygrad_emulator.py');
  const { text } = await run(python, [script, checkout, String(TINYGRAD_ROWS)], { keep: true });
  const { seconds, first, error, version } = JSON.parse(text.trim().split('\n').at(-1));
  const theirs = seconds / TINYGRAD_ROWS;
  return [
    {
      what: "tinygrad's emulator",
      value: 1000 * theirs,
      unit: 'ms a row',
      note: `${version}, one core; ours ${(1000 * ours).toFixed(3)}; the first launch, which compiles each instruction, takes ${first.toFixed(1)} s`,
    },
    { what: "time of tinygrad's over ours", value: theirs / ours, unit: '×', note: `largest error of its result ${error.toPrecision(2)}` },
  ];
}
