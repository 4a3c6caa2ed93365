// The panel of the playground that executes a CUDA or HIP kernel as AMD machine code, on the runner. It is loaded with the
// first kernel in the editor.

import { element } from "./element.js";
import { inlineCode } from "./inline-code.js";
import { findKernel, suggestLaunch, suggestReference } from "./kernel-signature.js";
import { runReport } from "./run-report.js";
import { base, capabilities, chosenRunner, emulate } from "./runner.js";

const ARCHS = { gfx90a: "MI200 series", gfx942: "MI300 series", gfx950: "MI350 series" };

const panels = new WeakMap();

// Shows the panel for a source in a region of the page, or hides it for a source without a kernel.
export function showRun(region, source, arch) {
  let panel = panels.get(region);
  if (!panel) {
    panel = mount(region, arch);
    panels.set(region, panel);
  }
  panel(source);
}

function mount(region, target) {
  let source = "";
  // The suggestion in the field: it follows the kernel until the reader edits it.
  let suggested = "";
  let executed;

  const arch = element("select", { id: "run-arch" }, Object.entries(ARCHS).map(([name, series]) => element("option", { value: name, textContent: `${name} (${series})` })));
  arch.value = target in ARCHS ? target : "gfx942";
  const heading = element("h2", { id: "run-heading" });
  const launch = area("run-launch", 14);
  const reference = area("run-reference", 10);
  const unsafe = element("input", { type: "checkbox", id: "run-unsafe" });
  const run = element("button", { className: "primary", disabled: true });
  const suggest = element("button", { type: "button", textContent: "Suggest again" });
  const start = element("button", { type: "button", textContent: "Begin a reference" });
  const missing = element("div", {}, [element("p", { textContent: "Looking for a runner." })]);
  const stale = element("p", { className: "hint", hidden: true, textContent: "The code has changed since this run." });
  const result = element("div", { className: "run-result" });
  result.setAttribute("role", "status");
  result.setAttribute("aria-label", "Result of the run");

  const form = element("form", {}, [
    element("p", {}, [element("label", { htmlFor: arch.id, textContent: "GPU " }), arch]),
    element("label", { htmlFor: launch.id, textContent: "Launch and arguments (TOML)" }),
    launch,
    element("p", { className: "actions" }, [suggest]),
    element("details", {}, [
      element("summary", { textContent: "Reference in NumPy or PyTorch" }),
      element("label", { htmlFor: reference.id, textContent: "Python with a function reference" }),
      reference,
      element("p", { className: "actions" }, [start]),
    ]),
    element("p", {}, [element("label", { className: "switch" }, [unsafe, "Also apply the unsafe fixes before compiling"])]),
    element("p", { className: "actions" }, [run]),
  ]);
  const intro = element("p", { className: "hint" });
  intro.append(
    "The runner compiles the kernel for this GPU, executes the machine code in an emulator, and compares the buffers with the reference. ",
    element("a", { href: `${base}learn/how-to/emulator/`, textContent: "How to describe a launch" }),
  );
  const section = element("section", { className: "contract run-panel" }, [heading, intro, form, missing, stale, result]);
  section.setAttribute("aria-labelledby", heading.id);
  region.append(section);

  const name = () => {
    heading.textContent = `Run as ${arch.value}`;
    run.textContent = heading.textContent;
    command.textContent = terminalCommand(source, arch.value, reference.value);
  };
  const command = element("code");
  arch.addEventListener("change", name);
  reference.addEventListener("input", name);
  suggest.addEventListener("click", () => {
    suggested = suggestLaunch(source);
    launch.value = suggested;
  });
  start.addEventListener("click", () => {
    if (reference.value.trim() === "") reference.value = suggestReference(source);
    reference.focus();
    name();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (run.disabled) return;
    run.disabled = true;
    result.setAttribute("aria-busy", "true");
    result.replaceChildren(element("p", { textContent: `Compiling for ${arch.value}, then executing …` }));
    stale.hidden = true;
    executed = source;
    const request = {
      language: languageOf(source),
      source,
      arch: arch.value,
      launch: launch.value,
      reference: reference.value.trim() === "" ? null : reference.value,
      unsafe_fixes: unsafe.checked,
    };
    try {
      result.replaceChildren(...runReport(await emulate(request, await chosenRunner()), request));
    } catch (error) {
      result.replaceChildren(element("p", { className: "failed" }, [element("strong", { textContent: "Not executed. " })]), message(error.message));
    }
    result.removeAttribute("aria-busy");
    run.disabled = false;
    stale.hidden = executed === source;
  });

  chosenRunner().then(capabilities).then((runner) => {
    const why = lack(runner);
    run.disabled = why !== undefined;
    run.hidden = run.disabled;
    missing.replaceChildren();
    if (why === undefined) return;
    const sentence = element("p", {});
    inlineCode(sentence, `${why} To run the kernel in a terminal, save it as \`${fileOf(source)}\` and the launch as \`run.toml\`:`);
    const text = element("pre", { tabIndex: 0 }, [command]);
    text.setAttribute("aria-label", "Command");
    missing.append(sentence, text);
  });
  name();

  return (text) => {
    source = findKernel(text) ? text : "";
    section.hidden = source === "";
    if (source === "") return;
    if (launch.value === suggested) {
      suggested = suggestLaunch(source);
      launch.value = suggested;
    }
    stale.hidden = executed === undefined || executed === source;
    name();
  };
}

function area(id, rows) {
  return element("textarea", { id, rows, className: "code", spellcheck: false, autocomplete: "off", wrap: "off" });
}

const languageOf = (source) => (source.includes("hip/hip_runtime.h") ? "hip" : "cuda");
const fileOf = (source) => (languageOf(source) === "hip" ? "kernel.hip" : "kernel.cu");

function terminalCommand(source, arch, reference) {
  const check = reference.trim() === "" ? "" : " --check reference.py";
  return `hipward run ${fileOf(source)} --arch ${arch} --args run.toml${check}`;
}

// Why a runner cannot execute kernels; `undefined` if it can.
function lack(runner) {
  if (!runner) return "This copy of the site has no runner, or it does not answer.";
  if (!runner.ready) return runner.missing?.[0]?.consequence ?? "The runner is not ready.";
  if (!runner.hip_compiler) {
    return "This runner has no clang with an AMD GPU target. Install clang 22 or later on its host, such as Debian's package clang-22.";
  }
  return undefined;
}

// What a compiler or the emulator printed, with its lines.
function message(text) {
  return element("pre", { className: "run-message", tabIndex: 0, textContent: text.trim() });
}
