// The token that a server may ask for before it runs or stops code: asked for once, kept in this browser, and sent with
// each such request.

import { element } from "./element.js";
import { recall, remember } from "./storage.js";

// For this page also where the browser keeps nothing.
let token = recall("token");

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
    element("p", { className: "hint", textContent: "Whoever started the server chose it. It is kept in this browser." }),
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
      remember("token", token);
      resolve(true);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(false);
    });
  });
}
