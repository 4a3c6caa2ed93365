// Calls the analyzer, which runs in a worker so that no source can freeze the page. A worker that takes too long is
// terminated, and the next request starts a new one.

import { asset, hasAsset } from "./assets.js";

const loading = {
  patience: 30_000,
  sentence: "The analyzer did not load. Check the connection and reload the page.",
};
const working = {
  patience: 5_000,
  sentence: "The analyzer took more than five seconds on this text and was stopped. Change the text and it starts again.",
};

let worker;
let stage = loading;
let last = 0;
let ended = 0;
const waiting = new Map();

// Calls a method with a request; resolves to the answer.
export function askAnalyzer(method, request) {
  worker ??= start();
  const id = ++last;
  return new Promise((resolve, reject) => {
    const question = { resolve, reject };
    waiting.set(id, question);
    setTimer(question);
    worker.postMessage({ id, method, request });
  });
}

// How often the worker was terminated, which loses its state.
export const analyzerStops = () => ended;

function setTimer(question) {
  clearTimeout(question.timer);
  question.timer = setTimeout(() => stop(stage.sentence), stage.patience);
}

function start() {
  stage = loading;
  const started = new Worker(asset("analyzer-worker.js"), { type: "module" });
  started.addEventListener("message", ({ data }) => {
    if (data.id !== undefined) {
      answer(data);
      return;
    }
    stage = data.ready ? working : loading;
    for (const question of waiting.values()) setTimer(question);
  });
  started.addEventListener("error", () => stop("The analyzer could not be started. Reload the page."));
  const module = (name) => ({ script: asset(`${name}.js`), wasm: asset(`${name}_bg.wasm`) });
  const rules = hasAsset("team-rules") ? asset("team-rules") : undefined;
  started.postMessage({ modules: { python: module("analyzer"), all: module("analyzer-all") }, rules });
  return started;
}

function answer({ id, answer, error, broken }) {
  const question = waiting.get(id);
  if (!question) return;
  waiting.delete(id);
  clearTimeout(question.timer);
  if (error === undefined) question.resolve(JSON.parse(answer));
  else question.reject(new Error(error));
  if (broken) stop("The analyzer had to be started again.");
}

function stop(sentence) {
  worker?.terminate();
  worker = undefined;
  ended++;
  for (const { reject, timer } of waiting.values()) {
    clearTimeout(timer);
    reject(new Error(sentence));
  }
  waiting.clear();
}
