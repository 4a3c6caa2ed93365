// The benchmark page's form: choose an example, send, go to the job.

import { inlineCode } from "./inline-code.js";
import { mountEditor } from "./mount-editor.js";
import { capabilities, submit } from "./runner.js";
import { recall } from "./storage.js";

export async function benchmarkForm() {
  const form = document.querySelector("form[data-benchmark]");
  if (!form) return;
  const { code, example } = form.elements;
  const button = form.querySelector("[type=submit]");
  const trouble = form.querySelector("[role=alert]");
  const snippets = [...document.querySelectorAll("[data-snippet]")];

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
      location.assign(await submit(request(form, snippets)));
    } catch (error) {
      inlineCode(trouble, error.message);
      button.disabled = false;
    }
  });
  showEditor(code).then((mounted) => {
    editor = mounted;
  });
  // The page may be older than the runner, or come from a static host with a runner behind it.
  button.disabled = !(await capabilities())?.ready;
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
