// The token that a server wants of those who run or stop code. A browser that opened the address which the server printed
// has a cookie for it and is asked nothing. Any other is asked once: the server answers the first request that carries the
// token with that cookie.

import { element } from "./element.js";
import { forget } from "./storage.js";

// For this page.
let token;

// Earlier versions kept it where scripts can read it.
forget("token");

export const authorization = () => (token ? { authorization: `Bearer ${token}` } : {});

// Asks for the token; false when none was given. `refused`: the server did not take the last one.
export function askToken(refused) {
  const input = element("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  // What a header can hold.
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
