// Starts on the pages with an island, a form or jobs: playground, machine code, benchmark, jobs. Other pages do not load it.

import { askAnalyzer } from "./analyzer-client.js";
import { approvals } from "./approvals.js";
import { asset } from "./assets.js";
import { benchmarkForm } from "./benchmark-form.js";
import { copyText } from "./copy.js";
import { keepClicks } from "./early-clicks.js";
import { readFile } from "./files.js";
import { jobs } from "./jobs.js";
import { mountEditor } from "./mount-editor.js";
import { openProject } from "./project.js";
import { remoteJob } from "./remote-job.js";
import { base, chosenRunner, jobPage, remoteJob as namedJob, runnerName, runnerOf, runners } from "./runner.js";
import { pack, unpack } from "./share.js";
import { askToken, authorization } from "./token.js";

approvals();
benchmarkForm();
jobs();
remoteJob();

// The module that has an island, by the start of the island's name. The end of the name is a hash of its code, so page and
// module must be of one build.
const modules = { JobLive: "island-job", MachineCode: "island-isa", Playground: "island-playground", RemoteJob: "island-job" };

const islands = [...document.querySelectorAll("leptos-island")];
if (islands.length > 0) {
  hydrate().catch(() => {
    const region = document.querySelector("[data-region=trouble]");
    if (region) region.textContent = "A part of this page did not load. Check the connection and reload the page.";
  });
}

// Selects a line (from 1) of a text area.
function selectLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
}

async function hydrate() {
  // The functions that the islands call; src/browser/script.rs and src/playground declare them.
  globalThis.hipward = {
    askAnalyzer: (method, request) => askAnalyzer(method, JSON.parse(request)),
    askEmulator: async (method, request) => (await import(asset("emulator-client.js"))).askEmulator(method, request),
    askToken: (refused, address) => askToken(refused, runnerOf(address)),
    authorization: (address) => authorization(runnerOf(address)).authorization,
    chosenRunner,
    copyText,
    jobPage,
    mountEditor,
    openProject,
    pack,
    readFile,
    remoteJob: () => namedJob()?.api,
    runnerName: (runner) => (runners.length > 1 || runner !== base ? runnerName(runner) : ""),
    selectLine,
    showRun: async (region, source, arch) => (await import(asset("run-kernel.js"))).showRun(region, source, arch),
    unpack,
  };
  const repeatClicks = islands.map(keepClicks);
  await firstPaint();
  for (const [index, island] of islands.entries()) {
    const { component } = island.dataset;
    const name = modules[component.slice(0, component.lastIndexOf("_"))];
    const module = await import(asset(`${name}.js`));
    await module.default({ module_or_path: asset(`${name}_bg.wasm`) });
    module.hydrate();
    module[component](island);
    repeatClicks[index]();
  }
}

// The modules of islands are large, and the page is complete without them. The second frame follows the first paint; a hidden
// page has no frames.
function firstPaint() {
  if (document.hidden) return undefined;
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
