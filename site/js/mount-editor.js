// Loads the code editor in the place of a text area.

import { asset } from "./assets.js";

// The editor is loaded at the reader's first sign of activity, so that it does not delay the page on a slow device, and shown
// when the browser is idle. The text area works until then. `onChange` receives each edited text.
export async function mountEditor(area, onChange, onFix) {
  await activity;
  const { mount } = await import(asset("editor.js"));
  await idle();
  return mount(area, onChange, onFix);
}

// The first movement of the pointer, touch, key or scroll on this page.
const signs = ["pointermove", "pointerdown", "keydown", "focusin", "wheel", "scroll"];
const activity = new Promise((resolve) => {
  const seen = () => {
    for (const sign of signs) removeEventListener(sign, seen, true);
    resolve();
  };
  for (const sign of signs) addEventListener(sign, seen, { capture: true, passive: true });
});

// Safari has no idle callbacks.
const idle = () =>
  new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve, globalThis.requestIdleCallback && { timeout: 1000 }));
