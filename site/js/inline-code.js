// Sentences in which backticks mark code.

// Fills an element with a sentence in which backticks mark code.
export function inlineCode(element, sentence) {
  const pieces = sentence.split("`").map((piece, at) => {
    if (at % 2 === 0) return piece;
    const code = document.createElement("code");
    code.textContent = piece;
    return code;
  });
  element.replaceChildren(...pieces.filter((piece) => piece !== ""));
}
