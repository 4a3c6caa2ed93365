// Starts on every page: theme, copy buttons, forms, and, where a page has islands, their
// hydration. Small on purpose: a lesson loads nothing else.

import { askAnalyzer } from "./analyzer-client.js";
import { asset } from "./assets.js";
import { benchmarkForm } from "./benchmark-form.js";
import { copyButtons, copyText } from "./copy.js";
import { isaForm, onCompiled } from "./isa-form.js";
import { progress } from "./progress.js";
import { targetOf } from "./project.js";
import { fill, say } from "./regions.js";
import { ruleFilter } from "./rule-filter.js";
import { base, cancelButton, entitle, follow, runnerState, servedSeq, submit } from "./runner.js";
import { searchButton } from "./search-button.js";
import { pack, unpack } from "./share.js";
import { recall, remember } from "./storage.js";
import { themeToggle } from "./theme-toggle.js";
import { openWorkspace } from "./workspace.js";

themeToggle();
searchButton();
copyButtons();
benchmarkForm();
cancelButton();
isaForm();
progress();
ruleFilter();

const islands = [...document.querySelectorAll("leptos-island")];
if (islands.length > 0) {
  hydrate().catch(() => say("trouble", "A part of this page did not load. Check the connection and reload the page."));
}

async function hydrate() {
  // What the islands call; declared in src/browser.rs.
  let workspace;
  globalThis.hipward = {
    ask: (method, source, settings, index) => askAnalyzer(method, question(workspace, source, settings, index)),
    base: () => base,
    diff: (before, after) => askAnalyzer("diff", { before, after }),
    entitle,
    fill,
    follow,
    fragment: () => location.hash.slice(1),
    go,
    judge: (source, settings, exercise) =>
      askAnalyzer("judge", { source, target: targetOf(settings), exercise }),
    keep,
    keptHere: () => history.state?.text,
    keptLast: () => recall("playground.text"),
    later: (milliseconds, callback) => setTimeout(callback, milliseconds),
    nextFrame: (callback) => requestAnimationFrame(callback),
    onCompiled,
    openWorkspace: (report) => (workspace = openWorkspace(report)),
    pack,
    parse: (json) => JSON.parse(json),
    recall,
    remember,
    runnerState,
    servedSeq,
    shareAddress,
    submit: (code) => submit({ code }),
    unpack,
  };
  const module = await import(asset("islands.js"));
  await module.default({ module_or_path: asset("islands_bg.wasm") });
  module.hydrate();
  // An island's name holds a hash of its code, so page and module must be of one build.
  for (const island of islands) module[island.dataset.component](island);
}

function question(workspace, source, settings, index) {
  const [language, ...path] = settings.split(",").slice(4);
  const asked = { source, target: targetOf(settings) };
  if (path.length > 0) {
    asked.path = path.join(",");
    // Of a folder's file more is known than it says itself.
    Object.assign(asked, workspace?.request(asked.path));
  }
  if (language) asked.language = language;
  if (index !== undefined) asked.indices = [index];
  return asked;
}

function keep(text) {
  remember("playground.text", text);
  try {
    history.replaceState({ text }, "");
  } catch {
    // Too large, or too often for this browser.
  }
}

// Beside this page, in a tab of its own, unless the browser refuses one.
function go(address, beside) {
  if (!beside || !window.open(address)) location.assign(address);
}

function shareAddress(fragment) {
  // Unlike setting the hash, this fires no event and adds no entry to the history.
  history.replaceState(history.state, "", `#${fragment}`);
  return copyText(location.href);
}
