// Calls the emulator, which runs in a worker so that no kernel can freeze the page. A worker that takes too long is
// terminated, which ends its launch.

import { asset } from "./assets.js";

const LIMIT = 30_000;

let worker;
let last = 0;
const waiting = new Map();

// Calls a method with a request as JSON; resolves to the answer as JSON.
export function askEmulator(method, request) {
  worker ??= start();
  const id = ++last;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop("The emulator took more than 30 seconds and was stopped. Use a smaller grid and run the kernel again.");
    }, LIMIT);
    waiting.set(id, { resolve, reject, timer });
    worker.postMessage({ id, method, request });
  });
}

function start() {
  const started = new Worker(asset("emulator-worker.js"), { type: "module" });
  started.addEventListener("message", ({ data: { id, answer, error, broken } }) => {
    const call = waiting.get(id);
    if (!call) return;
    waiting.delete(id);
    clearTimeout(call.timer);
    if (error === undefined) call.resolve(answer);
    else call.reject(new Error(error));
    if (broken) stop("The emulator had to be started again. Run the kernel again.");
  });
  started.addEventListener("error", () => stop("The emulator could not be started. Reload the page."));
  started.postMessage({ script: asset("emulator.js"), wasm: asset("emulator_bg.wasm") });
  return started;
}

function stop(sentence) {
  worker?.terminate();
  worker = undefined;
  for (const { reject, timer } of waiting.values()) {
    clearTimeout(timer);
    reject(new Error(sentence));
  }
  waiting.clear();
}
