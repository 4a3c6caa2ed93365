// The folder that is open in the playground: its files, how to analyze each, and what the reader changed in them.

import { asset } from "./assets.js";
import { textOf } from "./files.js";
import { download, savePlan } from "./fixes.js";
import { survey } from "./survey.js";

// `text` returns the text in the editor; `report` is called with the name and the value of each event (FolderEvent in
// src/playground/folder.rs).
export function openProject(text, report) {
  let folder;
  let checks = 0;
  let opens = 0;
  let requests = new Map();
  let shown;
  let changed = new Map();
  let plan;

  // Stores the edits of the file in the editor, which is at `path` of the folder.
  function keep(path) {
    if (shown?.path !== path) return;
    const now = withEnds(text(), shown.read);
    if (now === shown.read) changed.delete(path);
    else changed.set(path, now);
  }

  return {
    // Opens the items of a drop or a file input with a function of folder.js.
    async take(how, what) {
      try {
        folder = await (await import(asset("folder.js")))[how](what);
      } catch {
        report("error", "The part of this page that reads folders did not load. Check the connection and try again.");
        return;
      }
      shown = undefined;
      changed = new Map();
      report("opened", folder.name);
    },
    async check(target) {
      const check = ++checks;
      const isWanted = () => check === checks;
      const tell = (state) => {
        if (!isWanted()) return;
        plan = state.plan;
        report("progress", state);
      };
      try {
        requests = (await survey(folder, JSON.parse(target), tell, isWanted)) ?? requests;
      } catch (error) {
        if (isWanted()) report("error", error.message);
      }
    },
    // The fields of the analyzer's request about a file, as JSON, by the name that is shown for it.
    request(name) {
      const start = `${folder?.name}/`;
      const request = name.startsWith(start) ? requests.get(name.slice(start.length)) : undefined;
      return request && JSON.stringify(request);
    },
    async open(path, left) {
      keep(left);
      const file = folder?.files.find((one) => one.path === path);
      if (!file) return;
      const open = ++opens;
      const { text: read } = await textOf(file);
      // Another file was opened meanwhile.
      if (open !== opens) return;
      if (read === undefined) {
        report("error", `${path} cannot be read any more.`);
        return;
      }
      shown = { path, read };
      report("text", changed.get(path) ?? read);
    },
    async download(kind, target, left) {
      keep(left);
      try {
        if (kind === "plan") report("notice", savePlan(folder.name, plan));
        else report("notice", await download(kind, folder, { requests, changed, target: JSON.parse(target) }));
      } catch (error) {
        report("error", error.message);
      }
    },
    close() {
      checks++;
      folder = shown = undefined;
      requests = new Map();
    },
  };
}

// An editor ends each line its own way; what is written back ends them as the file does.
function withEnds(text, read) {
  const lines = (text) => text.replaceAll("\r\n", "\n");
  if (lines(text) === lines(read)) return read;
  return read.includes("\r\n") ? lines(text).replaceAll("\n", "\r\n") : text;
}
