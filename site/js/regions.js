// Fills a named part of the page. The HTML comes from src/html.rs, which escapes whatever is not
// its own markup.

export function fill(name, html) {
  const region = document.querySelector(`[data-region="${name}"]`);
  if (!region) return;
  const focused = region.contains(document.activeElement) ? document.activeElement.id : undefined;
  const open = [...region.querySelectorAll("details")].map((details) => details.open);
  const scrolled = [...region.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  region.innerHTML = html;
  // What a reader had opened, scrolled or focused stays so.
  region.querySelectorAll("details").forEach((details, at) => {
    if (open[at]) details.open = true;
  });
  region.querySelectorAll(".scroll").forEach((box, at) => {
    [box.scrollLeft, box.scrollTop] = scrolled[at] ?? [0, 0];
  });
  if (focused === undefined) return;
  const again = focused && document.getElementById(focused);
  if (again) {
    again.focus({ preventScroll: true });
  } else {
    // The button did its work and is gone; the reader goes on from here.
    region.tabIndex = -1;
    region.focus({ preventScroll: true });
  }
}

// Fills it with a sentence.
export function say(name, sentence) {
  const region = document.querySelector(`[data-region="${name}"]`);
  if (region) sayIn(region, sentence);
}

// Fills an element with a sentence in which backticks mark code.
export function sayIn(element, sentence) {
  const pieces = sentence.split("`").map((piece, at) => {
    if (at % 2 === 0) return piece;
    const code = document.createElement("code");
    code.textContent = piece;
    return code;
  });
  element.replaceChildren(...pieces.filter((piece) => piece !== ""));
}
