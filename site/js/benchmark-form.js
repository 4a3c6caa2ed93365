// The benchmark page's form: choose an example and a runner, send, go to the job.

import { element } from "./element.js";
import { inlineCode } from "./inline-code.js";
import { mountEditor } from "./mount-editor.js";
import { runnerChoice } from "./runner-choice.js";
import { base, capabilities, submit } from "./runner.js";
import { recall } from "./storage.js";

export async function benchmarkForm() {
  const form = document.querySelector("form[data-benchmark]");
  if (!form) return;
  const { code, example } = form.elements;
  const button = form.querySelector("[type=submit]");
  const trouble = form.querySelector("[role=alert]");
  const snippets = [...document.querySelectorAll("[data-snippet]")];
  let runner = base;

  let editor;
  const choose = (id) => {
    const snippet = snippets.find((one) => one.dataset.snippet === id);
    if (!snippet) return;
    example.value = id;
    code.value = snippet.querySelector("code").textContent;
    editor?.setText(code.value);
  };
  const fromAddress = () => choose(decodeURIComponent(location.hash.replace("#example=", "")));
  example?.addEventListener("change", () => choose(example.value));
  window.addEventListener("hashchange", fromAddress);
  fromAddress();

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    trouble.textContent = "";
    button.disabled = true;
    try {
      location.assign(await submit(request(form, snippets), runner));
    } catch (error) {
      inlineCode(trouble, error.message);
      button.disabled = false;
    }
  });
  showEditor(code).then((mounted) => {
    editor = mounted;
  });
  const choice = form.querySelector("[data-runner-choice]");
  if (choice) {
    await runnerChoice(choice, (chosen, found) => {
      runner = chosen;
      show(form, found);
      button.disabled = !found?.ready;
    });
    return;
  }
  // The page may be older than the runner, or come from a static host with a runner behind it.
  button.disabled = !(await capabilities())?.ready;
}

// The variants and devices on the page, as JSON.
let shown;

// Offers the variants and devices of a runner; none of one that does not answer.
function show(form, found) {
  const offered = JSON.stringify([found?.variants, found?.devices.map(({ id, name }) => [id, name])]);
  // Otherwise an update of the queue would take the focus from a field.
  if (offered === shown) return;
  shown = offered;
  const field = form.querySelector("[data-variants]");
  const { device } = form.elements;
  const unchecked = new Set([...field.querySelectorAll("[name=variant]:not(:checked)")].map(({ value }) => value));
  const variants = (found?.variants ?? []).filter(({ id }) => id !== "eager");
  const boxes = variants.map(({ id, label }) => {
    const box = element("input", { type: "checkbox", name: "variant", value: id, checked: !unchecked.has(id), autocomplete: "off" });
    return element("label", { className: "switch" }, [box, label]);
  });
  const about = (found?.variants ?? []).map(({ label, about }) =>
    element("div", {}, [element("dt", { textContent: label }), element("dd", { textContent: about })]),
  );
  const list = element("dl", { className: "facts" }, about);
  const details = element("details", {}, [element("summary", { textContent: "What each of them is" }), list]);
  field.replaceChildren(field.querySelector("legend"), ...boxes, details);
  field.hidden = variants.length === 0;
  const selected = device.value;
  const options = (found?.devices ?? []).map(({ id, name }) => element("option", { value: id, textContent: `${name} (${id})` }));
  device.replaceChildren(device.options[0], ...options);
  device.value = options.some(({ value }) => value === selected) ? selected : "";
}

// The editor, unless the reader chose the text area in the playground. Without it, the text area works as well.
async function showEditor(code) {
  if (recall("playground.plain") === "yes") return undefined;
  try {
    const editor = await mountEditor(code, (text) => {
      code.value = text;
    });
    // The text may have changed since.
    editor.setText(code.value);
    return editor;
  } catch {
    return undefined;
  }
}

function request(form, snippets) {
  const { elements } = form;
  const chosen = snippets.find((one) => one.dataset.snippet === elements.example?.value);
  const job = { code: elements.code.value };
  // The title is the example's, so it is not sent with edited code.
  if (chosen?.querySelector("code").textContent === job.code) job.title = chosen.dataset.title;
  const boxes = [...form.querySelectorAll("[name=variant]")];
  if (boxes.some((box) => !box.checked)) {
    job.variants = ["eager", ...boxes.filter((box) => box.checked).map((box) => box.value)];
  }
  if (elements.device.value) job.device = elements.device.value;
  return job;
}
