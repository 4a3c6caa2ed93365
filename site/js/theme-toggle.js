// The button that cycles through the system's theme, light and dark. theme.js applies the choice before the first paint.

import { recall, remember } from "./storage.js";

const next = { auto: "light", light: "dark", dark: "auto" };

export function themeToggle() {
  const button = document.querySelector("[data-theme-toggle]");
  if (!button) return;
  let theme = recall("theme") in next ? recall("theme") : "auto";
  const show = () => {
    button.querySelector("[data-theme-name]").textContent = theme;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  button.addEventListener("click", () => {
    theme = next[theme];
    remember("theme", theme);
    show();
  });
  show();
}
