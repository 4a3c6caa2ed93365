// The runner's API, as the pages use it. Every failure becomes a sentence.

import { say } from "./regions.js";
import { askToken, authorization } from "./token.js";

export const base = document.documentElement.dataset.base;
const silent = "The runner does not answer. Is hipward serve still running?";

export async function capabilities() {
  try {
    const answer = await fetch(`${base}api/v1/capabilities`);
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

export async function runnerState() {
  const found = await capabilities();
  if (!found) return "absent";
  return found.ready ? "ready" : "not-ready";
}

// Sends a job; the address of its page.
export async function submit(job) {
  const created = await call(`${base}api/v1/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(job),
  });
  return `${base}jobs/${created.id}/`;
}

// Asks for a kernel's machine code.
export const compile = (request) =>
  call(`${base}api/v1/compile`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });

const job = () => document.querySelector("[data-job]")?.dataset;

export function servedSeq() {
  const seq = job()?.seq;
  return seq === undefined ? undefined : Number(seq);
}

// Follows the page's job from its first event. The browser reconnects by itself and tells the
// server what it saw last.
export function follow(onEvent) {
  const stream = new EventSource(`${job().job}/events?after=0`);
  stream.addEventListener("message", ({ data }) => {
    if (onEvent(JSON.parse(data))) stream.close();
  });
  stream.addEventListener("open", () => say("trouble", ""));
  stream.addEventListener("error", () => {
    const gone = stream.readyState === EventSource.CLOSED;
    say(
      "trouble",
      gone
        ? "The connection to the runner broke. The job goes on; reload the page to see it."
        : "The connection to the runner broke. Connecting again.",
    );
  });
}

// `Llama block: Running · Hipward`, and what it is now.
export function entitle(state) {
  document.title = document.title.replace(/: \w+ · Hipward$/, `: ${state} · Hipward`);
}

export function cancelButton() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-cancel]");
    if (!button) return;
    button.disabled = true;
    try {
      await call(job().job, { method: "DELETE" });
    } catch (error) {
      button.disabled = false;
      say("trouble", error.message);
    }
  });
}

async function call(url, options) {
  const known = authorization();
  let answer;
  try {
    answer = await fetch(url, { ...options, headers: { ...options.headers, ...known } });
  } catch {
    throw new Error(silent);
  }
  const body = await answer.json().catch(() => undefined);
  if (answer.ok) return body;
  if (body?.code === "token-required" && (await askToken("authorization" in known))) return call(url, options);
  throw new Error(body?.detail ? `${body.detail} ${body.help ?? ""}` : `The runner answered with status ${answer.status}.`);
}
