// Checks a folder file by file, in the worker, and says how far it is; then what it comes to. See folder.js for which
// files those are, and src/playground/project.rs for what is told.

import { analyzerStops, askAnalyzer } from "./analyzer-client.js";
import { skip, textOf } from "./folder.js";

const severities = ["error", "warning", "advice", "info"];
const tellEvery = 100;
// The analyzer gives up on a file that takes too long, and its count is lost with it.
const mostStops = 5;

// `target` is what to judge for; `tell` gets every state; once `isWanted` is false, nothing more is read or told.
export async function checkProject(folder, target, tell, isWanted) {
  const stopped = new Set();
  while (isWanted()) {
    const stops = analyzerStops();
    const state = await once(folder, target, tell, isWanted, stopped);
    if (!state) return;
    if (analyzerStops() === stops) return tell(state);
    if (stopped.size > mostStops) throw new Error("The analyzer was stopped too often on this folder. Run hipward check on it.");
  }
}

async function once({ name, files, skipped: outside }, target, tell, isWanted, stopped) {
  // What an earlier check has left behind is not this one's.
  await askAnalyzer("survey_finish", {});
  const skipped = new Map([...outside].map(([why, paths]) => [why, [...paths]]));
  const known = await readable(files, skipped);
  const extensions = await extensionFolders(known);
  const found = [];
  let told = 0;
  for (const [done, file] of known.entries()) {
    if (performance.now() - told > tellEvery) {
      told = performance.now();
      tell({ name, done, total: known.length });
      // Lets the page breathe between files.
      await new Promise((resolve) => setTimeout(resolve));
    }
    const { text, why } = stopped.has(file.path) ? { why: "slow" } : await textOf(file);
    if (!isWanted()) return undefined;
    if (text === undefined) {
      skip(skipped, why, file.path);
      continue;
    }
    const stops = analyzerStops();
    const extension = extensions.some((start) => file.path.startsWith(start));
    try {
      const report = await askAnalyzer("survey_add", { ...asked(file, extension, target), source: text });
      found.push({ path: file.path, extension, counts: counted(report) });
    } catch (error) {
      stopped.add(file.path);
      if (analyzerStops() !== stops) return {};
      skip(skipped, "slow", file.path);
    }
  }
  if (!isWanted()) return undefined;
  const summary = await askAnalyzer("survey_finish", {});
  const left = [...skipped].map(([why, paths]) => ({ why, count: paths.length, paths: paths.slice(0, 20) }));
  return { name, done: known.length, total: known.length, files: found, skipped: left, summary };
}

function asked({ path, language }, extension, target) {
  const request = { path, language, target };
  return extension ? { ...request, pytorch_extension: true } : request;
}

// Files of the kinds that the analyzer reads, by their names.
async function readable(files, skipped) {
  const known = [];
  for (let at = 0; at < files.length; at += 1000) {
    const some = files.slice(at, at + 1000);
    const languages = await askAnalyzer("languages", { paths: some.map(({ path }) => path) });
    some.forEach((file, index) => {
      if (languages[index]) known.push({ ...file, language: languages[index] });
      else skip(skipped, "kind", file.path);
    });
  }
  return known.sort((a, b) => (a.path < b.path ? -1 : 1));
}

// Folders whose setup.py builds extensions with PyTorch: there its hipify renames what is CUDA.
async function extensionFolders(known) {
  const folders = [];
  for (const file of known.filter(({ path }) => /(^|\/)setup\.py$/.test(path))) {
    const { text } = await textOf(file);
    if (/cpp_extension|CUDAExtension/.test(text ?? "")) folders.push(file.path.slice(0, -"setup.py".length));
  }
  return folders;
}

function counted({ findings }) {
  return severities.map((severity) => findings.filter((finding) => finding.severity === severity).length);
}
