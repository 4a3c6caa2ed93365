// The runner's API for pages without an island. Every failure becomes a sentence.

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

// Sends a job; the address of its page.
export async function submit(job) {
  const created = await call(`${base}api/v1/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(job),
  });
  return `${base}jobs/${created.id}/`;
}

// Judges an answer to an exercise, `part/lesson/id`.
export function judge(exercise, code) {
  return call(`${base}api/v1/exercises/${exercise}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
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
