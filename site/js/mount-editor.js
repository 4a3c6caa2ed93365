// Loads the code editor in the place of a text area.

import { asset } from "./assets.js";

// Waits for the browser to be idle before the editor is loaded and again before it is shown, because each is a long task. The
// text area works meanwhile. `onChange` receives each edited text.
export async function mountEditor(area, onChange, onFix) {
  await idle();
  const { mount } = await import(asset("editor.js"));
  await idle();
  return mount(area, onChange, onFix);
}

// Safari has no idle callbacks.
const idle = () =>
  new Promise((resolve) => (globalThis.requestIdleCallback ?? setTimeout)(resolve, globalThis.requestIdleCallback && { timeout: 1000 }));
