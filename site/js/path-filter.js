// Filters the list of lessons by a reading path. The choice is stored in this browser.

import { recall, remember } from "./storage.js";

const key = "reading-path";

export function pathFilter() {
  const select = document.querySelector("[data-path-filter]");
  if (!select) return;
  const items = [...document.querySelectorAll("main li[data-paths]")];
  const show = () => {
    for (const item of items) item.hidden = select.value !== "" && !item.dataset.paths.split(" ").includes(select.value);
    // A part, and a kind of page, is shown while it has a page.
    for (const group of document.querySelectorAll("main .parts > li, main section[data-kind]")) {
      group.hidden = !group.querySelector("li[data-paths]:not([hidden])");
    }
  };
  const stored = recall(key) ?? "";
  if ([...select.options].some((option) => option.value === stored)) select.value = stored;
  select.addEventListener("change", () => {
    remember(key, select.value);
    show();
  });
  show();
}
