// The playground's text: CodeMirror when it is loaded and wanted, the page's textarea otherwise.
// Whatever a person does in the playground is reported as an act and an argument; see
// src/playground/message.rs.

import { asset } from "./assets.js";
import { readFile, textLimit, tooLarge } from "./files.js";
import { openProject } from "./project.js";

export function openWorkspace(report) {
  const root = document.getElementById("playground");
  const textarea = root.querySelector("textarea");
  let editor;
  let findings;
  const text = () => editor?.text() ?? textarea.value;
  const project = openProject(text, report);

  listen(root, textarea, report, project.take);

  return {
    text,
    checkProject: (target) => project.check(target),
    openFile: project.open,
    download: project.download,
    closeProject: project.close,
    request: project.request,
    example: () => textarea.defaultValue,
    setText(text) {
      textarea.value = text;
      editor?.setText(text);
    },
    setReport(report) {
      findings = report;
      editor?.setReport(report);
    },
    setTarget(target) {
      const values = target.split(",");
      root.querySelectorAll(".target select").forEach((select, at) => {
        select.value = values[at];
      });
    },
    setLanguage(language) {
      root.querySelector("select[data-act=language]").value = language;
    },
    select(range) {
      const [from, to] = range.split("-").map(Number);
      if (editor) {
        editor.select(from, to);
      } else {
        textarea.focus();
        textarea.setSelectionRange(from, to);
      }
    },
    async setPlain(plain) {
      root.querySelector("[data-plain]").checked = plain;
      if (plain && editor) {
        textarea.value = editor.text();
        editor.remove();
        editor = undefined;
      } else if (!plain && !editor) {
        try {
          const { mount } = await import(asset("editor.js"));
          editor = mount(
            textarea,
            (text) => report("edit", text),
            (index) => report("fix", String(index)),
          );
          // The report may have come while the editor was loading.
          if (findings) editor.setReport(findings);
        } catch {
          report("trouble", "The editor could not be loaded; the plain one works all the same.");
        }
      }
      root.dataset.editor = editor ? "code" : "plain";
    },
  };
}

function listen(root, textarea, report, takeFolder) {
  const open = async (file) => {
    if (!file) return;
    try {
      const text = await readFile(file);
      report("file", file.name);
      report("open", text);
    } catch (error) {
      report("trouble", error.message);
    }
  };
  // A text area of many megabytes freezes the page by itself, so such a paste is refused at once.
  root.addEventListener(
    "paste",
    (event) => {
      const { length } = event.clipboardData?.getData("text/plain") ?? "";
      if (length <= textLimit) return;
      event.preventDefault();
      event.stopPropagation();
      report("trouble", tooLarge("This text", length));
    },
    { capture: true },
  );
  textarea.addEventListener("input", () => report("edit", textarea.value));
  root.addEventListener("click", (event) => {
    const { act, arg } = event.target.closest?.("button[data-act]")?.dataset ?? {};
    if (act) report(act, arg ?? "");
  });
  root.addEventListener("change", ({ target }) => {
    if (target.type === "file") {
      if (target.webkitdirectory && target.files.length > 0) takeFolder("ofInput", [...target.files]);
      else open(target.files[0]);
      // The same file may be chosen again after it changed.
      target.value = "";
    } else if (target.type === "checkbox") {
      report("plain", String(target.checked));
    } else if (target.dataset.act) {
      report(target.dataset.act, target.value);
    }
  });
  root.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  root.addEventListener(
    "drop",
    (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      // The editor would put a dropped file's text where it fell.
      event.stopPropagation();
      // Browsers forget what a drop holds with the event.
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
      if (entries.length > 1 || entries[0]?.isDirectory) takeFolder("ofDrop", entries);
      else open(event.dataTransfer.files[0]);
    },
    { capture: true },
  );
  // Edits rest a moment before they are kept; a page that is left does not wait.
  window.addEventListener("pagehide", () => report("leave", ""));
  window.addEventListener("hashchange", () => report("fragment", location.hash.slice(1)));
}
