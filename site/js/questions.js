// The questions of a lesson. The answer to a prediction shows after the reader has committed to one; an option of a quiz is a
// fold that shows its reason. Both are remembered.

import { addressOf, answers } from "./answer-store.js";

export function questions() {
  const stored = answers.all();
  for (const block of document.querySelectorAll("[data-question]")) {
    const address = addressOf(block);
    const save = (answer) => address && answers.set(address, answer);
    const prepare = block.matches("[data-predict]") ? prediction : quiz;
    prepare(block, address && stored[address], save);
  }
}

function quiz(block, stored, save) {
  const options = [...block.querySelectorAll("details")];
  const opened = new Set((stored ?? "").split(",").filter((position) => at(options, position)));
  for (const position of opened) at(options, position).open = true;
  for (const [position, option] of options.entries()) {
    // Not on `toggle`, which is dispatched later: the answer would be lost if the reader left the page at once.
    option.querySelector("summary").addEventListener("click", () => {
      if (opened.has(`${position}`)) return;
      opened.add(`${position}`);
      save([...opened].join(","));
    });
  }
}

function prediction(block, stored, save) {
  const form = block.querySelector("form");
  const answer = block.querySelector("[data-answer]");
  const verdict = block.querySelector("[data-verdict]");
  answer.hidden = true;
  if (stored !== undefined && enter(form, stored)) show();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isRight(form) === undefined) verdict.textContent = "Enter a number, such as 12.5.";
    else {
      save(entered(form));
      show();
    }
  });

  function show() {
    const right = isRight(form);
    verdict.textContent = right ? "Your prediction is right." : "Your prediction differs from the answer.";
    verdict.className = right ? "right" : "wrong";
    answer.hidden = false;
    answer.open = true;
    for (const field of form.elements) field.disabled = true;
  }
}

// The item at a position that is stored as text.
const at = (items, position) => (/^\d+$/.test(position) ? items[position] : undefined);
const radios = (form) => [...form.querySelectorAll("input[type=radio]")];
const numberField = (form) => form.querySelector("[data-number]");

// The answer in the form as text: the position of an option, or the number.
function entered(form) {
  return numberField(form)?.value.trim() ?? `${radios(form).findIndex((radio) => radio.checked)}`;
}

// Puts a stored answer into the form; false if it does not fit.
function enter(form, stored) {
  const field = numberField(form);
  const radio = at(radios(form), stored);
  if (field) field.value = stored;
  else if (radio) radio.checked = true;
  return isRight(form) !== undefined;
}

// Whether the answer is right; undefined if there is none, or if it is not a number.
function isRight(form) {
  const field = numberField(form);
  if (!field) {
    const chosen = radios(form).find((radio) => radio.checked);
    return chosen && chosen.dataset.correct !== undefined;
  }
  const { value, dataset } = field;
  const text = value.trim().replace(",", ".");
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) return undefined;
  const expected = Number(dataset.number);
  return Math.abs(number - expected) <= Math.abs(expected) * Number(dataset.tolerance);
}
