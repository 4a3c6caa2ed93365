// The form of the page for machine code: reads what an address brings, asks the runner to compile, hands the answer on
// to be drawn (src/isa/).

import { fill, say } from "./regions.js";
import { capabilities, compile } from "./runner.js";
import { unpack } from "./share.js";

let draw;

// Who draws an answer: `(answer, source)`.
export function onCompiled(callback) {
  draw = callback;
}

export async function isaForm() {
  const form = document.querySelector("form[data-isa]");
  if (!form) return;
  const button = form.querySelector("[type=submit]");
  const { language } = form.elements;
  const triton = form.querySelector("[data-triton]");
  const shape = () => {
    triton.hidden = language.value !== "triton";
  };
  language.addEventListener("change", shape);
  window.addEventListener("hashchange", () => fromAddress(form).then(shape));
  await fromAddress(form);
  shape();

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say("trouble", "");
    say("isa-state", "Compiling. The first time takes a few seconds.");
    // What stands there may belong to another source.
    fill("isa", "");
    button.disabled = true;
    try {
      const asked = request(form);
      const answer = await compile(asked);
      say("isa-state", "The answer is below.");
      draw(answer, asked.source);
    } catch (error) {
      say("isa-state", "");
      say("trouble", error.message);
    }
    button.disabled = false;
  });
  button.disabled = !(await capabilities())?.ready;
}

async function fromAddress({ elements }) {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (!asked.has("code")) return;
  try {
    elements.code.value = await unpack(asked.get("code"));
  } catch (error) {
    say("trouble", error.message);
    return;
  }
  elements.language.value = asked.get("language") === "hip" ? "hip" : "triton";
  elements.arguments.value = "";
  const arch = asked.get("arch");
  if (arch) for (const box of elements.arch) box.checked = box.value === arch;
  // The recorded answer is another kernel's.
  fill("isa", "");
}

function request({ elements }) {
  const asked = {
    language: elements.language.value,
    source: elements.code.value,
    archs: [...elements.arch].filter((box) => box.checked).map((box) => box.value),
  };
  if (asked.language === "triton") {
    asked.arguments = readArguments(elements.arguments.value);
    if (elements.kernel.value) asked.kernel = elements.kernel.value.trim();
    if (elements.warps.value) asked.num_warps = Number(elements.warps.value);
  }
  return asked;
}

// `x_ptr=*bf16, BLOCK=1024`: numbers and truth values are constants, anything else is a type.
function readArguments(text) {
  const pairs = text.split(/[,\n]/).filter((pair) => pair.trim());
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name, ...value] = pair.split("=");
      return [name.trim(), constant(value.join("=").trim())];
    }),
  );
}

function constant(text) {
  try {
    return JSON.parse(text.replace(/^(True|False)$/, (word) => word.toLowerCase()));
  } catch {
    return text;
  }
}
