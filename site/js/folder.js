// A folder that a person dropped or chose: which of its files are worth reading, and what is left out and why. The
// files stay where they are; each is read when its turn comes.

import { textLimit } from "./files.js";

// Folders that hold no code of the project, as `hipward check` sees them.
const foreign = new Set(["node_modules", "__pycache__"]);
const readHidden = new Set([".github", ".circleci", ".devcontainer", ".buildkite"]);
const isForeign = (name) => foreign.has(name) || (name.startsWith(".") && !readHidden.has(name));

// More than any project has; a home folder that was dropped by mistake has more.
const mostFiles = 50_000;

// What a drop holds: `{name, files: [{path, file}], skipped}`; nothing for a single file, which is no folder.
// Browsers forget the items of a drop with the event, so this begins before the first await.
export function ofDrop(items) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0 || (entries.length === 1 && entries[0].isFile)) return undefined;
  return walk(entries);
}

async function walk(entries) {
  const folder = opened(entries.length === 1 ? entries[0].name : `${entries.length} dropped items`);
  const below = entries.length === 1 && entries[0].isDirectory ? await children(entries[0]) : entries;
  const waiting = below.map((entry) => ({ entry, path: entry.name }));
  // Siblings are read in one go, so that a virtual environment is known before its files are.
  while (waiting.length > 0 && folder.files.length < mostFiles) {
    const { entry, path } = waiting.pop();
    if (entry.isFile) {
      folder.files.push({ path, read: () => new Promise((done, fail) => entry.file(done, fail)) });
    } else if (isForeign(entry.name)) {
      skip(folder.skipped, "folder", path);
    } else {
      const inside = await children(entry);
      if (inside.some(({ name }) => name === "pyvenv.cfg")) skip(folder.skipped, "folder", path);
      else waiting.push(...inside.map((entry) => ({ entry, path: `${path}/${entry.name}` })));
    }
  }
  if (waiting.length > 0) skip(folder.skipped, "many", waiting[0].path);
  return folder;
}

// A reader gives some of a folder's entries at each call, and none at the end.
async function children(directory) {
  const reader = directory.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

// What a file input with `webkitdirectory` holds: every file below the folder, hidden ones and all.
export function ofInput(list) {
  const all = [...list].map((file) => ({ file, parts: file.webkitRelativePath.split("/") }));
  const folder = opened(all[0].parts[0]);
  const environments = all
    .filter(({ parts }) => parts.at(-1) === "pyvenv.cfg")
    .map(({ parts }) => `${parts.slice(1, -1).join("/")}/`);
  const left = new Set();
  for (const { file, parts } of all) {
    const path = parts.slice(1).join("/");
    const depth = parts.slice(1, -1).findIndex(isForeign);
    const environment = environments.find((start) => path.startsWith(start));
    if (depth >= 0) left.add(parts.slice(1, depth + 2).join("/"));
    else if (environment) left.add(environment.slice(0, -1));
    else if (folder.files.length >= mostFiles) left.add(path);
    else folder.files.push({ path, read: async () => file });
  }
  for (const path of left) skip(folder.skipped, folder.files.length >= mostFiles ? "many" : "folder", path);
  return folder;
}

// `skipped` holds the paths that were left out, by why.
const opened = (name) => ({ name, files: [], skipped: new Map() });

export function skip(skipped, why, path) {
  if (!skipped.has(why)) skipped.set(why, []);
  skipped.get(why).push(path);
}

// The text of a file, or why it is left out.
export async function textOf({ read }) {
  let file;
  try {
    file = await read();
    if (file.size > textLimit) return { why: "large" };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? { why: "binary" } : { text };
  } catch (error) {
    // Only the decoder throws a TypeError; anything else is the browser that may not read.
    return { why: error instanceof TypeError ? "binary" : "unreadable" };
  }
}
