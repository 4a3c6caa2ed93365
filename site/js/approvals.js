// The page of jobs that wait for approval: sends the operator's decisions.

import { element } from "./element.js";
import { decide } from "./runner.js";

const done = { approve: "Approved. The job is queued.", reject: "Rejected. The author sees the reason." };

export function approvals() {
  for (const form of document.querySelectorAll("form[data-approval]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const decision = event.submitter.value;
      const trouble = form.querySelector("[role=alert]");
      trouble.textContent = "";
      const buttons = form.querySelectorAll("button");
      for (const button of buttons) button.disabled = true;
      try {
        await decide(form.dataset.approval, decision, form.elements.reason.value);
        const message = element("p", { role: "status", tabIndex: -1, textContent: done[decision] });
        form.replaceWith(message);
        message.focus();
      } catch (error) {
        trouble.textContent = error.message;
        for (const button of buttons) button.disabled = false;
      }
    });
  }
}
