// The folder that is open in the playground: what was found of its files, and what a person changed in them.

import { asset } from "./assets.js";
import { textOf } from "./files.js";
import { download } from "./fixes.js";
import { survey } from "./survey.js";

// `text` gives what stands in the editor; `report` takes acts, as in src/playground/message.rs.
export function openProject(text, report) {
  let folder;
  let checks = 0;
  let requests = new Map();
  let shown;
  let changed = new Map();

  // Keeps what a person made of the file in the editor, which is at `path` of the folder.
  function keep(path) {
    if (shown?.path !== path) return;
    const now = withEnds(text(), shown.read);
    if (now === shown.read) changed.delete(path);
    else changed.set(path, now);
  }

  return {
    // What a drop or a file input holds, read by a function of folder.js.
    async take(how, what) {
      try {
        folder = await (await import(asset("folder.js")))[how](what);
      } catch {
        report("trouble", "The part of this page that reads folders did not load. Check the connection and try again.");
        return;
      }
      shown = undefined;
      changed = new Map();
      report("folder", folder.name);
    },
    async check(target) {
      const check = ++checks;
      const isWanted = () => check === checks;
      const tell = (state) => isWanted() && report("project", JSON.stringify(state));
      try {
        requests = (await survey(folder, targetOf(target), tell, isWanted)) ?? requests;
      } catch (error) {
        if (isWanted()) report("trouble", error.message);
      }
    },
    // How to ask about a file by the name that it is shown by.
    request(name) {
      const start = `${folder?.name}/`;
      return name.startsWith(start) ? requests.get(name.slice(start.length)) : undefined;
    },
    async open(path, left) {
      keep(left);
      const file = folder?.files.find((one) => one.path === path);
      if (!file) return;
      const { text: read } = await textOf(file);
      if (read === undefined) {
        report("trouble", `${path} cannot be read any more.`);
        return;
      }
      shown = { path, read };
      report("opened", changed.get(path) ?? read);
      // On a phone the editor is below the list.
      const panes = document.querySelector("#playground .panes");
      if (panes.getBoundingClientRect().top > innerHeight * 0.6) panes.scrollIntoView();
    },
    async download(kind, target, left) {
      keep(left);
      try {
        report("notice", await download(kind, folder, { requests, changed, target: targetOf(target) }));
      } catch (error) {
        report("trouble", error.message);
      }
    },
    close() {
      checks++;
      folder = shown = undefined;
      requests = new Map();
    },
  };
}

// `gfx942,7.1,2.11,3.12` as the analyzer wants it.
export function targetOf(text) {
  const [arch, rocm, torch, python] = text.split(",");
  return { arch, rocm, torch, python };
}

// An editor ends each line its own way; what is written back ends them as the file does.
function withEnds(text, read) {
  const lines = (text) => text.replaceAll("\r\n", "\n");
  if (lines(text) === lines(read)) return read;
  return read.includes("\r\n") ? lines(text).replaceAll("\n", "\r\n") : text;
}
