// Requests to runners, for pages without an island. Every failure becomes a sentence.

import { recall, remember } from "./storage.js";
import { askToken, authorization } from "./token.js";

// The address of the site. Its own runner, if it has one, is below it too.
export const base = document.documentElement.dataset.base;
// The addresses of the runners that this site uses. Each ends with a slash.
export const runners = JSON.parse(document.documentElement.dataset.runners ?? '[""]').map((address) => address || base);

// As in src/page/benchmark.rs.
export const runnerName = (runner) => (runner === base ? "This server" : runner.replace(/^https?:\/\//, "").replace(/\/$/, ""));

// The runner of an address in its API.
export const runnerOf = (address) => runners.find((runner) => runner !== base && address.startsWith(runner)) ?? base;

// A host that is switched off does not refuse the connection. The own server may take longer, while it loads PyTorch.
const patience = 20_000;

export async function capabilities(runner = base) {
  try {
    const answer = await fetch(`${runner}api/v1/capabilities`, runner === base ? {} : { signal: AbortSignal.timeout(patience) });
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

const key = "runner";
let chosen;

// The runner that was chosen in this browser, or else the first that is ready.
export function chosenRunner() {
  chosen ??= choose();
  return chosen;
}

export function chooseRunner(runner) {
  remember(key, runner);
  chosen = Promise.resolve(runner);
}

async function choose() {
  const remembered = recall(key);
  if (runners.includes(remembered)) return remembered;
  if (runners.length === 1) return runners[0];
  const answers = await Promise.all(runners.map(capabilities));
  return runners.find((_, at) => answers[at]?.ready) ?? runners[0];
}

// The page of a runner's job.
export const jobPage = (runner, id) =>
  runner === base ? `${base}jobs/${id}/` : `${base}jobs/remote/#${new URLSearchParams({ runner, job: id })}`;

// The job that the address of this page names, if its runner is one of the site's.
export function remoteJob() {
  const named = new URLSearchParams(location.hash.slice(1));
  const [runner, id] = [named.get("runner"), named.get("job")];
  if (runner === base || !runners.includes(runner) || !/^[\w-]+$/.test(id ?? "")) return undefined;
  return { runner, id, api: `${runner}api/v1/jobs/${id}` };
}

// Sends a job to a runner; the address of its page.
export async function submit(job, runner = base) {
  const created = await call(`${runner}api/v1/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(job),
  });
  return jobPage(runner, created.id);
}

// Judges an answer to an exercise, `part/lesson/id`.
export function judge(exercise, code) {
  return call(`${base}api/v1/exercises/${exercise}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
}

// Executes a kernel in the emulator of a runner.
export function emulate(request, runner = base) {
  return call(`${runner}api/v1/emulate`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
}

// Approves or rejects the code of a job: `approve`, or `reject` with a reason.
export function decide(job, decision, reason) {
  return call(`${base}api/v1/jobs/${job}/${decision}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    ...(decision === "reject" && { body: JSON.stringify({ reason }) }),
  });
}

async function call(url, options) {
  const runner = runnerOf(url);
  const known = authorization(runner);
  let answer;
  try {
    answer = await fetch(url, { ...options, headers: { ...options.headers, ...known } });
  } catch {
    throw new Error(unreachable(runner));
  }
  const body = await answer.json().catch(() => undefined);
  if (answer.ok) return body;
  const needsToken = ["token-required", "token-expired"].includes(body?.code);
  if (needsToken && (await askToken("authorization" in known, runner))) return call(url, options);
  throw new Error(body?.detail ? `${body.detail} ${body.help ?? ""}` : `The runner answered with status ${answer.status}.`);
}

// A browser does not tell the reasons for a failed request to another origin apart.
const unreachable = (runner) =>
  runner === base
    ? "The runner does not answer. Is hipward serve still running?"
    : `${runnerName(runner)} does not answer, or it does not allow pages of this site (\`hipward serve --allow-origin ${location.origin}\`).`;
