// The token that a server requires to run or stop code. A browser that opened the address which the server printed has it as
// a cookie. Any other browser shows a dialog once: the server sets the cookie in its answer to the first request with the
// token.

import { element } from "./element.js";
import { forget } from "./storage.js";

// The token that was entered on this page.
let token;

// Earlier versions stored it where scripts can read it.
forget("token");

export const authorization = () => (token ? { authorization: `Bearer ${token}` } : {});

// Shows the dialog; resolves to false if it was closed. `refused`: the server did not accept the last token.
export function askToken(refused) {
  const input = element("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  // The characters that a header can contain.
  input.pattern = "[!-~]([ -~]*[!-~])?";
  const cancel = element("button", { type: "button", textContent: "Cancel" });
  const form = element("form", { method: "dialog" }, [
    element("p", { textContent: refused ? "That is not this server’s token." : "This server runs code only for those who have its token." }),
    element("label", {}, ["Token ", input]),
    element("p", { className: "hint", textContent: "It is in the address that `hipward serve` printed, unless the server was given one. This browser keeps a cookie for it." }),
    element("p", { className: "actions" }, [element("button", { className: "primary", textContent: "Send" }), cancel]),
  ]);
  const dialog = element("dialog", { className: "dialog" }, [form]);
  dialog.setAttribute("aria-label", "Token");
  cancel.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", () => {
      token = input.value;
      resolve(true);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(false);
    });
  });
}
