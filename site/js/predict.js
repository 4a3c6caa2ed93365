// Predictions: the answer shows after the reader has committed to one.

export function predictions() {
  for (const block of document.querySelectorAll("[data-predict]")) prepare(block);
}

function prepare(block) {
  const form = block.querySelector("form");
  const answer = block.querySelector("[data-answer]");
  const verdict = block.querySelector("[data-verdict]");
  answer.hidden = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const right = isRight(form);
    if (right === undefined) {
      verdict.textContent = "Enter a number, such as 12.5.";
      return;
    }
    verdict.textContent = right ? "Your prediction is right." : "Your prediction differs from the answer.";
    verdict.className = right ? "right" : "wrong";
    answer.hidden = false;
    answer.open = true;
    for (const field of form.elements) field.disabled = true;
  });
}

// Whether the answer is right; undefined if it is not a number.
function isRight(form) {
  const chosen = form.querySelector("input[type=radio]:checked");
  if (chosen) return chosen.dataset.correct !== undefined;
  const { value, dataset } = form.querySelector("[data-number]");
  const text = value.trim().replace(",", ".");
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) return undefined;
  const expected = Number(dataset.number);
  return Math.abs(number - expected) <= Math.abs(expected) * Number(dataset.tolerance);
}
