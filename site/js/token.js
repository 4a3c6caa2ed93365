// The token that a server requires to run or stop code. A browser that opened the address which the server printed has it as
// a cookie. Any other browser shows a dialog once: the server sets the cookie in its answer to the first request with the
// token. Servers of other origins set no cookie here; their tokens are stored until the tab is closed.

import { element } from "./element.js";
import { forget } from "./storage.js";

// The token for this page's own server that was entered on this page.
let token;

// Earlier versions stored it where scripts can read it.
forget("token");

const own = document.documentElement.dataset.base;
const key = (runner) => `hipward.token.${runner}`;
const stored = (runner) => {
  try {
    return sessionStorage.getItem(key(runner)) ?? undefined;
  } catch {
    return undefined;
  }
};
// Used if the browser does not allow storage.
const entered = new Map();

function tokenOf(runner) {
  return runner === own ? token : (entered.get(runner) ?? stored(runner));
}

function setToken(runner, value) {
  if (runner === own) {
    token = value;
    return;
  }
  entered.set(runner, value);
  try {
    sessionStorage.setItem(key(runner), value);
  } catch {
    // The token is asked for again on the next page.
  }
}

export const authorization = (runner = own) => {
  const known = tokenOf(runner);
  return known ? { authorization: `Bearer ${known}` } : {};
};

// Shows the dialog; resolves to false if it was closed. `refused`: the server did not accept the last token.
export function askToken(refused, runner = own) {
  const isOwn = runner === own;
  const name = isOwn ? "This server" : new URL(runner).host;
  const input = element("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  // The characters that a header can contain.
  input.pattern = "[!-~]([ -~]*[!-~])?";
  const cancel = element("button", { type: "button", textContent: "Cancel" });
  const hint = isOwn
    ? "It is in the address that `hipward serve` printed, unless the server was given one. This browser keeps a cookie for it."
    : "Its operator has it, or creates one with `hipward token add`. This browser stores it until the tab is closed.";
  const form = element("form", { method: "dialog" }, [
    element("p", { textContent: refused ? `${name} did not accept that token.` : `${name} runs code only for those who have its token.` }),
    element("label", {}, ["Token ", input]),
    element("p", { className: "hint", textContent: hint }),
    element("p", { className: "actions" }, [element("button", { className: "primary", textContent: "Send" }), cancel]),
  ]);
  const dialog = element("dialog", { className: "dialog" }, [form]);
  dialog.setAttribute("aria-label", "Token");
  cancel.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", () => {
      setToken(runner, input.value);
      resolve(true);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(false);
    });
  });
}
