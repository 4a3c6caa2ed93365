// The jobs of this browser: a job's page adds its id, and the list of jobs shows them. Only ids, titles and the addresses of
// other runners are stored.

import { element } from "./element.js";
import { base, jobPage, runnerName, runnerOf, runners, submit } from "./runner.js";
import { recall, remember } from "./storage.js";
import { authorization } from "./token.js";

const key = "jobs";
const limit = 100;

export function jobs() {
  const heading = document.querySelector("h1[data-job]");
  if (heading) {
    const { job: id, title } = heading.dataset;
    storeJob({ id, title });
  }
  const list = document.querySelector("[data-own-jobs]");
  if (list) show(list);
  for (const button of document.querySelectorAll("[data-run-again]")) offerRunAgain(button);
}

// Puts a job at the start of this browser's list. `runner` is the address of its runner; absent for this server.
export function storeJob(job) {
  store([job, ...stored().filter((one) => one.id !== job.id || one.runner !== job.runner)].slice(0, limit));
}

function stored() {
  try {
    const list = JSON.parse(recall(key) ?? "[]");
    return Array.isArray(list) ? list.filter((one) => typeof one?.id === "string") : [];
  } catch {
    return [];
  }
}

const store = (list) => remember(key, JSON.stringify(list));

async function show(section) {
  const list = stored();
  // Pages may not send requests to a runner that the site no longer uses.
  const known = list.filter(({ runner }) => runner === undefined || runners.includes(runner));
  const answers = await Promise.all(known.map(summary));
  // A job that its runner no longer has is removed; one whose runner does not answer is not.
  const removed = new Set(known.filter((_, at) => answers[at] === null));
  store(list.filter((one) => !removed.has(one)));
  const rows = answers.flatMap((job, at) => (job ? [row(job, known[at])] : []));
  if (!rows.length) return;
  section.querySelector("tbody").replaceChildren(...rows);
  section.querySelector(".scroll").hidden = false;
  section.querySelector("[data-no-jobs]").hidden = true;
}

// The job; null if it does not exist, undefined if there is no answer.
async function summary({ id, runner = base }) {
  try {
    const answer = await fetch(`${runner}api/v1/jobs/${encodeURIComponent(id)}`, { headers: authorization(runner) });
    if (answer.status === 404) return null;
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

const words = { "awaiting-approval": "Awaiting approval", queued: "Waiting", running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };

function row(job, { title, runner = base }) {
  const when = `${job.created_at.slice(0, 16).replace("T", " ")} UTC`;
  // The server of the page compares its own jobs only.
  const box =
    runner === base
      ? element("label", { className: "box" }, [element("input", { type: "checkbox", name: "job", value: job.id, ariaLabel: `Compare ${title}, ${when}` })])
      : "";
  const link = element("span", {}, [element("a", { href: jobPage(runner, job.id), textContent: title })]);
  if (runner !== base) link.append(" ", element("small", { textContent: `on ${runnerName(runner)}` }));
  const state = element("span", { className: "badge", textContent: words[job.state] ?? job.state });
  state.dataset.state = state.textContent;
  const time = element("time", { dateTime: job.created_at, textContent: when });
  const cells = [box, link, state, job.headline ?? job.failure?.message ?? "", time].map((inside) => {
    const cell = document.createElement("td");
    cell.append(inside);
    return cell;
  });
  cells.at(-1).className = "number";
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
}

// Submits the code of a job again, with the same request.
export function offerRunAgain(button) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const api = button.dataset.runAgain;
      const runner = runnerOf(api);
      const options = { headers: authorization(runner) };
      const job = await (await fetch(api, options)).json();
      const code = await (await fetch(`${api}/code`, options)).text();
      const { title, variants, labels, requested_device: device, require } = job;
      location.assign(await submit({ code, title, variants, labels, device, require }, runner));
    } catch (error) {
      button.disabled = false;
      button.after(element("span", { role: "alert", textContent: ` ${error.message}` }));
    }
  });
}
