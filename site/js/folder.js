// A folder that a person dropped or chose: which of its files are worth reading, and what is left out and why. The
// files stay where they are; each is read when its turn comes. Loaded with the first folder.

import ignore from "ignore";
import { skip } from "./files.js";

// Folders that hold no code of the project, as `hipward check` sees them.
const foreign = new Set(["node_modules", "__pycache__"]);
const readHidden = new Set([".github", ".circleci", ".devcontainer", ".buildkite"]);
const isForeign = (name) => foreign.has(name) || (name.startsWith(".") && !readHidden.has(name));

// Files of patterns, by folder, first the ones that have the last word.
const ignoreFiles = [".ignore", ".gitignore", ".git/info/exclude"];

// More than any project has; a home folder that was dropped by mistake has more.
const mostFiles = 50_000;

// What a drop holds, by the entries of its items.
export function ofDrop(entries) {
  const [only] = entries;
  const isFolder = entries.length === 1 && only.isDirectory;
  return walk(isFolder ? only.name : `${entries.length} dropped items`, isFolder ? droppedFolder(only) : dropped(entries));
}

const droppedFolder = (entry) => async () => dropped(await entriesOf(entry))();

const dropped = (entries) => async () =>
  entries.map((entry) =>
    entry.isFile
      ? { name: entry.name, read: () => new Promise((done, fail) => entry.file(done, fail)) }
      : { name: entry.name, inside: droppedFolder(entry) },
  );

// A reader gives some of a folder's entries at each call, and none at the end.
async function entriesOf(directory) {
  const reader = directory.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

// What a file input with `webkitdirectory` holds: every file below the folder, hidden ones and all.
export function ofInput(files) {
  const root = new Map();
  for (const file of files) {
    const parts = file.webkitRelativePath.split("/").slice(1);
    const name = parts.pop();
    let folder = root;
    for (const part of parts) {
      if (!folder.has(part)) folder.set(part, new Map());
      folder = folder.get(part);
    }
    folder.set(name, file);
  }
  return walk(files[0].webkitRelativePath.split("/")[0], chosen(root));
}

const chosen = (folder) => async () =>
  [...folder].map(([name, what]) =>
    what instanceof Map ? { name, inside: chosen(what) } : { name, read: async () => what },
  );

// `{name, files: [{path, read}], repositories, skipped}`: `repositories` are the folders with a `.git`, `skipped` holds
// the paths that were left out, by why. `inside` lists what lies in the folder.
async function walk(name, inside) {
  const folder = { name, files: [], repositories: [], skipped: new Map() };
  const waiting = [{ path: "", inside, above: undefined }];
  while (waiting.length > 0 && folder.files.length < mostFiles) {
    const { path, inside, above } = waiting.pop();
    const start = path && `${path}/`;
    const entries = await inside();
    const names = new Set(entries.map(({ name }) => name));
    if (path && names.has("pyvenv.cfg")) {
      skip(folder.skipped, "folder", path);
      continue;
    }
    if (names.has(".git")) folder.repositories.push(path);
    const rules = { above, start, isRepository: names.has(".git"), patterns: await patternsIn(entries) };
    for (const { name, read, inside } of entries) {
      const at = start + name;
      if (inside && isForeign(name)) skip(folder.skipped, "folder", at);
      else if (isIgnored(rules, inside ? `${at}/` : at)) skip(folder.skipped, "ignored", at);
      else if (inside) waiting.push({ path: at, inside, above: rules });
      else folder.files.push({ path: at, read });
    }
  }
  if (waiting.length > 0) skip(folder.skipped, "many", waiting[0].path);
  return folder;
}

// The patterns of a folder's ignore files, in their order.
async function patternsIn(entries) {
  const read = async (entries, [name, ...rest]) => {
    const found = entries.find((entry) => entry.name === name);
    if (rest.length > 0) return found?.inside && read(await found.inside(), rest);
    const text = await found?.read?.().then((file) => file.text(), () => undefined);
    return text && ignore({ ignoreCase: false }).add(text);
  };
  return Promise.all(ignoreFiles.map((path) => read(entries, path.split("/"))));
}

// What git would say, and ripgrep: the nearest file that names a path decides, up to the repository's root.
function isIgnored(rules, path) {
  for (const [kind, file] of ignoreFiles.entries()) {
    for (let at = rules; at; at = at.isRepository && file !== ".ignore" ? undefined : at.above) {
      const { ignored, unignored } = at.patterns[kind]?.test(path.slice(at.start.length)) ?? {};
      if (ignored || unignored) return ignored;
    }
  }
  return false;
}
