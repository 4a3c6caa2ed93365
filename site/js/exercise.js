// The exercises of a lesson: the reader's program, the check on the runner, and its result. Without a runner the block shows
// how to check the program on the command line.

import { element } from "./element.js";
import { exercises, update } from "./exercise-store.js";
import { inlineCode } from "./inline-code.js";
import { capabilities, judge } from "./runner.js";

export async function mountExercises(sections) {
  const mounted = [...sections].map(mount);
  const runner = await capabilities();
  for (const { setRunner } of mounted) setRunner(runner);
}

function mount(section) {
  const address = section.dataset.exercise;
  const area = section.querySelector("textarea");
  const start = area.value;
  const file = section.dataset.file;
  const isKernel = file.endsWith(".hip");
  const actions = section.querySelector("[data-actions]");
  const result = section.querySelector("[data-result]");
  const command = section.querySelector("[data-without-runner]");

  const check = element("button", { type: "button", className: "primary", textContent: "Check", disabled: true });
  const reset = element("button", { type: "button", textContent: "Reset" });
  const download = element("button", { type: "button", textContent: "Download" });
  const state = element("span", { className: "exercise-state" });
  // The link to the unchanged file is for readers without JavaScript.
  actions.replaceChildren(check, reset, download, state);
  result.setAttribute("role", "status");
  result.setAttribute("aria-label", "Result of the check");
  const keys = element("p", {
    className: "hint",
    id: `${area.id}-keys`,
    textContent: "Tab indents; press Escape, then Tab to leave the editor. Ctrl+Enter checks.",
  });
  area.after(keys);
  area.setAttribute("aria-describedby", keys.id);

  const stored = exercises.all()[address];
  if (stored?.text !== undefined) area.value = stored.text;
  showState();

  function showState() {
    const { solved, judge: judged } = exercises.all()[address] ?? {};
    state.textContent = !solved ? "" : judged === section.dataset.judge ? "✓ Solved" : "✓ Solved with an earlier version of the cases";
  }

  const save = () => update(address, { text: area.value === start ? undefined : area.value });
  let pending;
  area.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(save, 300);
  });
  addEventListener("pagehide", save);
  editing(area, () => check.click(), isKernel ? "  " : "    ");

  reset.addEventListener("click", () => {
    if (area.value !== start && !confirm("Replace your program by the one you began with?")) return;
    area.value = start;
    update(address, { text: undefined, judge: undefined, solved: undefined });
    result.replaceChildren();
    showState();
  });

  download.addEventListener("click", () => {
    const link = element("a", { download: file, href: URL.createObjectURL(new Blob([area.value], { type: "text/plain" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  check.addEventListener("click", async () => {
    if (check.disabled) return;
    check.disabled = true;
    save();
    result.setAttribute("aria-busy", "true");
    result.replaceChildren(element("p", { textContent: "Checking …" }));
    try {
      const answer = await judge(address, area.value);
      if (answer.status === "solved") update(address, { solved: true, judge: section.dataset.judge });
      result.replaceChildren(...describe(answer, isKernel, (line) => selectLine(area, line)));
    } catch (error) {
      const paragraph = element("p", {});
      inlineCode(paragraph, error.message);
      result.replaceChildren(paragraph);
    }
    result.removeAttribute("aria-busy");
    showState();
    check.disabled = false;
  });

  return {
    setRunner(runner) {
      const compiles = !isKernel || Boolean(runner?.hip_compiler);
      const judges = Boolean(runner?.ready) && compiles;
      check.disabled = !judges;
      check.hidden = !judges;
      command.hidden = judges;
      if (judges) return;
      const why = runner?.ready
        ? "This runner has no clang with an AMD GPU target. Install clang 22 or later on its host, such as Debian's package clang-22."
        : (runner?.missing?.[0]?.consequence ?? "This site has no runner.");
      const note = element("span", {});
      inlineCode(note, `${why} Download the program, and check it on your computer with the command below. `);
      command.prepend(note);
    },
  };
}

const headings = {
  solved: "Solved. Every case passes.",
  not_yet: "Not yet.",
  did_not_load: "The program does not load.",
  unavailable: "This cannot be checked on this runner.",
  timeout: "The time limit was reached.",
};
const marks = { passed: ["✓", "passed"], failed: ["✗", "failed"], unavailable: ["–", "not checked"], not_run: ["–", "not run"] };

// A result as elements.
function describe(answer, isKernel, goTo) {
  const made = [];
  const title = isKernel && answer.status === "did_not_load" ? "The kernel does not compile." : headings[answer.status];
  const heading = element("p", { className: `verdict ${answer.status}` }, [element("strong", { textContent: title })]);
  if (answer.message) heading.append(" ", ...place(answer.line, goTo), answer.message);
  made.push(heading);
  if (answer.status !== "did_not_load" && answer.cases.length > 0) {
    made.push(element("ul", { className: "case-list" }, answer.cases.map((one) => caseItem(one, goTo))));
  }
  for (const hint of answer.hints) {
    const paragraph = element("p", { className: "cause" });
    inlineCode(paragraph, `A likely cause: ${hint}`);
    made.push(paragraph);
  }
  if (answer.unfilled.length > 0) {
    made.push(element("p", { textContent: `Not filled in yet: ${answer.unfilled.join(", ")}` }));
  }
  if (answer.output) {
    const text = answer.output + (answer.output_truncated ? "\n…" : "");
    made.push(element("details", {}, [element("summary", { textContent: isKernel ? "What the compiler printed" : "What the program printed" }), element("pre", { textContent: text, tabIndex: 0 })]));
  }
  return made;
}

function caseItem({ title, status, message, line, notes }, goTo) {
  const [mark, word] = marks[status];
  const item = element("li", { className: status }, [
    element("span", { className: "mark", ariaHidden: "true", textContent: mark }),
    element("span", { className: "visually-hidden", textContent: `${word}: ` }),
    title,
  ]);
  if (message) item.append(element("p", {}, [...place(line, goTo), message]));
  if (notes?.length > 0) {
    const found = notes.map((note) => element("li", {}, [...place(note.line, goTo), note.message]));
    item.append(element("ul", { className: "emulator-notes", ariaLabel: "Findings of the emulator" }, found));
  }
  return item;
}

// "Line 12:" as a button that selects the line.
function place(line, goTo) {
  if (!line) return [];
  const button = element("button", { type: "button", className: "line-link", textContent: `Line ${line}` });
  button.addEventListener("click", () => goTo(line));
  return [button, ": "];
}

function selectLine(area, line) {
  const lines = area.value.split("\n");
  const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
}

// Tab and Enter as in an editor. `insertText` keeps the browser's undo history.
function editing(area, run, indentation) {
  let leaving = false;
  const insert = (text) => {
    if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  };
  area.addEventListener("blur", () => {
    leaving = false;
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      leaving = true;
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Tab" && !leaving) {
      event.preventDefault();
      if (event.shiftKey || area.selectionStart !== area.selectionEnd) shift(area, event.shiftKey, insert);
      else insert(indentation);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const before = area.value.slice(0, area.selectionStart);
      const current = before.slice(before.lastIndexOf("\n") + 1);
      insert(`\n${/^ */.exec(current)[0]}${/[:{]\s*$/.test(current) ? indentation : ""}`);
    }
    if (event.key !== "Shift") leaving = false;
  });
}

// Indents the selected lines by four spaces, or removes up to four.
function shift(area, back, insert) {
  const { value, selectionStart, selectionEnd } = area;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const next = value.indexOf("\n", Math.max(selectionStart, selectionEnd - 1));
  const to = next === -1 ? value.length : next;
  const lines = value.slice(from, to).split("\n");
  const changed = lines.map((line) => (back ? line.replace(/^ {1,4}/, "") : line && `    ${line}`)).join("\n");
  area.setSelectionRange(from, to);
  insert(changed);
  area.setSelectionRange(from, from + changed.length);
}
