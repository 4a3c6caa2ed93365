// A folder that was dropped or chosen: the files to read, and the paths that are left out with the reason. A file is read
// when it is checked. This script is loaded with the first folder.

import ignore from "ignore";
import { skip } from "./files.js";

// Folders without code of the project; the same as for `hipward check`.
const foreign = new Set(["node_modules", "__pycache__"]);
const readHidden = new Set([".github", ".circleci", ".devcontainer", ".buildkite", ".gitlab", ".ci", ".docker", ".runpod"]);
const isForeign = (name) => foreign.has(name) || (name.startsWith(".") && !readHidden.has(name));

// Ignore files, the one with the highest precedence first.
const ignoreFiles = [".ignore", ".gitignore", ".git/info/exclude"];

// No project has more; a home folder that was dropped by mistake does.
const mostFiles = 50_000;

// The contents of a drop, from the entries of its items.
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

// A reader returns some entries of a folder at each call, and none at the end.
async function entriesOf(directory) {
  const reader = directory.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

// The contents of a file input. With `webkitdirectory` these are all files below the folder, hidden files included; otherwise
// the files have no path.
export function ofInput(files) {
  const root = new Map();
  for (const file of files) {
    const parts = file.webkitRelativePath.split("/").slice(1);
    const name = parts.pop() ?? file.name;
    let folder = root;
    for (const part of parts) {
      if (!folder.has(part)) folder.set(part, new Map());
      folder = folder.get(part);
    }
    folder.set(name, file);
  }
  return walk(files[0].webkitRelativePath.split("/")[0] || `${files.length} files`, chosen(root));
}

const chosen = (folder) => async () =>
  [...folder].map(([name, what]) =>
    what instanceof Map ? { name, inside: chosen(what) } : { name, read: async () => what },
  );

// `{name, files: [{path, read}], repositories, skipped}`: `repositories` are the folders with a `.git`, `skipped` has
// the paths that were left out, by reason. `inside` lists the entries of the folder.
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

// The same as git and ripgrep: the nearest file that matches a path decides, up to the root of the repository.
function isIgnored(rules, path) {
  for (const [kind, file] of ignoreFiles.entries()) {
    for (let at = rules; at; at = at.isRepository && file !== ".ignore" ? undefined : at.above) {
      const { ignored, unignored } = at.patterns[kind]?.test(path.slice(at.start.length)) ?? {};
      if (ignored || unignored) return ignored;
    }
  }
  return false;
}
