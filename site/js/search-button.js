// Opens the search with its button, or with the key `/` outside of a field. The code of the search is loaded on first use.

import { asset } from "./assets.js";

export function searchButton() {
  const button = document.querySelector("[data-search]");
  const open = async () => {
    try {
      (await import(asset("search.js"))).openSearch();
    } catch {
      button.textContent = "Search did not load";
    }
  };
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    open();
  });
}
