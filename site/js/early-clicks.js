// Clicks on the buttons of an island whose module is still loading. Without this they would have no effect.

// Keeps the clicks from now on. Returns a function that repeats them; it is called when the island is hydrated.
export function keepClicks(island) {
  const clicked = new Set();
  const keep = (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    event.preventDefault();
    clicked.add(button);
  };
  island.addEventListener("click", keep);
  return () => {
    island.removeEventListener("click", keep);
    for (const button of clicked) button.click();
  };
}
