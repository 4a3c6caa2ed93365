// The downloads of a folder: its fixed files as one patch or as a zip of the files that changed, and its porting plan.

import { askAnalyzer } from "./analyzer-client.js";
import { asset } from "./assets.js";
import { textOf } from "./files.js";

const forms = {
  patch: { type: "text/x-patch", how: (file) => `Run \`git apply ${file}\` in the folder (\`patch -p1 < ${file}\` below a repository's root).` },
  zip: { type: "application/zip", how: () => "Unpack it in the folder; it holds nothing but the files that changed." },
};

// `kind` is a form; `requests` has the fields of the request about each file, `changed` the files that were edited. Resolves
// to a sentence.
export async function download(kind, { name, files }, { requests, changed, target }) {
  const fixed = [];
  for (const file of files.filter(({ path }) => requests.has(path))) {
    const { text: before } = await textOf(file);
    if (before === undefined) continue;
    const { path } = file;
    const source = changed.get(path) ?? before;
    const { source: after } = await askAnalyzer("fix_all", { ...requests.get(path), target, source });
    if (after !== before) fixed.push({ path, before, text: after });
  }
  if (fixed.length === 0) return "There is nothing to download: no safe fix is left, and no file was changed.";
  fixed.sort((a, b) => (a.path < b.path ? -1 : 1));
  const file = fileName(name, `rocm.${kind}`);
  const { type, how } = forms[kind];
  save(file, new Blob([await (kind === "zip" ? zipped(fixed) : patched(fixed))], { type }));
  return `\`${file}\` changes ${fixed.length === 1 ? "1 file" : `${fixed.length} files`}. ${how(file)}`;
}

async function patched(files) {
  let patch = "";
  for (const { path, before, text } of files) patch += await askAnalyzer("patch", { path, before, after: text });
  return patch;
}

async function zipped(files) {
  const { zip } = await import(asset("zip.js"));
  return zip(files);
}

// Saves the porting plan of the folder `name`. Returns a sentence.
export function savePlan(name, plan) {
  const file = fileName(name, "porting-plan.md");
  save(file, new Blob([plan], { type: "text/markdown" }));
  return `\`${file}\` is a Markdown checklist for an issue or a wiki.`;
}

function fileName(name, end) {
  return `${name.replaceAll(/[^\w.-]+/g, "-")}-${end}`;
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
