// The jobs of this browser: a job's page adds its id, and the list of jobs shows them. Only ids and titles are stored.

import { base, submit } from "./runner.js";
import { authorization } from "./token.js";
import { recall, remember } from "./storage.js";

const key = "jobs";
const limit = 100;

export function jobs() {
  const heading = document.querySelector("h1[data-job]");
  if (heading) {
    const { job: id, title } = heading.dataset;
    store([{ id, title }, ...stored().filter((one) => one.id !== id)].slice(0, limit));
  }
  const list = document.querySelector("[data-own-jobs]");
  if (list) show(list);
  for (const button of document.querySelectorAll("[data-run-again]")) runAgain(button);
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
  const answers = await Promise.all(list.map(({ id }) => summary(id)));
  // A job that the runner no longer has is removed. If the runner does not answer, the job stays.
  store(list.filter((_, at) => answers[at] !== null));
  const rows = answers.flatMap((job, at) => (job ? [row(job, list[at].title)] : []));
  if (rows.length === 0) return;
  section.querySelector("tbody").replaceChildren(...rows);
  section.querySelector(".scroll").hidden = false;
  section.querySelector("[data-no-jobs]").hidden = true;
}

// The job; null if it does not exist, undefined if there is no answer.
async function summary(id) {
  try {
    const answer = await fetch(`${base}api/v1/jobs/${encodeURIComponent(id)}`, { headers: authorization() });
    if (answer.status === 404) return null;
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

const words = { queued: "Waiting", running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };

function row(job, title) {
  const when = `${job.created_at.slice(0, 16).replace("T", " ")} UTC`;
  const box = element("input", { type: "checkbox", name: "job", value: job.id, ariaLabel: `Compare ${title}, ${when}` });
  const link = element("a", { href: `${base}jobs/${job.id}/`, textContent: title });
  const state = element("span", { className: "badge", textContent: words[job.state] ?? job.state });
  state.dataset.state = state.textContent;
  const time = element("time", { dateTime: job.created_at, textContent: when });
  const cells = [box, link, state, job.failure?.message ?? "", time].map((inside) => {
    const cell = document.createElement("td");
    cell.append(inside);
    return cell;
  });
  cells.at(-1).className = "number";
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
}

const element = (name, properties) => Object.assign(document.createElement(name), properties);

// Submits the code of a job again, with its title and variants.
function runAgain(button) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const api = button.dataset.runAgain;
      const [job, code] = await Promise.all([
        fetch(api).then((answer) => answer.json()),
        fetch(`${api}/code`).then((answer) => answer.text()),
      ]);
      const { title, variants } = job;
      location.assign(await submit({ code, ...(title && { title }), ...(variants.length > 0 && { variants }) }));
    } catch (error) {
      button.disabled = false;
      button.after(element("span", { role: "alert", textContent: ` ${error.message}` }));
    }
  });
}
