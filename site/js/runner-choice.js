// The choice of a runner on the benchmark page: the devices and the queue of each, and whether it answers.

import { capabilities, chooseRunner, chosenRunner, runners } from "./runner.js";

// Milliseconds between two updates of a page that is visible.
const interval = 15_000;

// Calls `onChange` with the address of the chosen runner and its capabilities, now and after each change.
export async function runnerChoice(field, onChange) {
  const known = new Map();
  const radios = [...field.querySelectorAll("[name=runner]")];
  const current = () => radios.find((radio) => radio.checked)?.value;
  const update = async (runner) => {
    const radio = radios.find(({ value }) => value === runner);
    const answer = await capabilities(runner);
    const before = JSON.stringify(known.get(runner));
    known.set(runner, answer);
    radio.closest("label").querySelector("[data-runner-state]").textContent = describe(answer);
    if (runner === current() && JSON.stringify(answer) !== before) onChange(runner, answer);
  };
  for (const radio of radios) {
    radio.closest("label").querySelector("[data-runner-state]").textContent = "Waiting for its answer.";
    radio.addEventListener("change", () => {
      chooseRunner(radio.value);
      onChange(radio.value, known.get(radio.value));
    });
  }
  setInterval(() => {
    if (document.visibilityState === "visible") runners.forEach(update);
  }, interval);
  const answers = Promise.all(runners.map(update));
  const first = await chosenRunner();
  // The reader may have chosen meanwhile.
  if (current() === undefined) {
    radios.find(({ value }) => value === first).checked = true;
    onChange(first, known.get(first));
  }
  await answers;
}

function describe(answer) {
  if (!answer) return "Does not answer, or does not allow pages of this site.";
  if (!answer.ready) return `Not ready. ${answer.missing?.[0]?.consequence ?? ""}`.replaceAll("`", "");
  const devices = answer.devices.map(({ name, arch, current_job: job }) => `${name} (${arch}${job ? ", busy" : ""})`).join(", ");
  return `${devices}. ${queue(answer.queue_length)}`;
}

function queue(length) {
  if (length === undefined) return "";
  if (length === 0) return "No job waits.";
  return length === 1 ? "One job waits." : `${length} jobs wait.`;
}
