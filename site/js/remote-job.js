// The page for a job of another runner: its title, links and code. The island JobLive renders the result.

import { offerRunAgain, storeJob } from "./jobs.js";
import { remoteJob as named, runnerName } from "./runner.js";
import { authorization } from "./token.js";

export async function remoteJob() {
  const page = document.querySelector("[data-remote-job]");
  if (!page) return;
  window.addEventListener("hashchange", () => location.reload());
  const job = named();
  if (!job) return;
  const { runner, id, api } = job;
  document.querySelector("[data-no-remote-job]").hidden = true;
  page.hidden = false;
  const find = (name) => page.querySelector(`[data-remote-${name}]`);
  const link = find("page");
  link.href = `${runner}jobs/${id}/`;
  link.textContent = runnerName(runner);
  find("id").textContent = id;
  for (const download of page.querySelectorAll("[data-remote]")) download.href = `${api}/${download.dataset.remote}`;
  const again = find("again");
  again.dataset.runAgain = api;
  offerRunAgain(again);

  const options = { headers: authorization(runner) };
  const [summary, code] = await Promise.all([request(api, options), request(`${api}/code`, options)]);
  // The island reports that the runner has no such job.
  if (!summary || !code) return;
  const { title = "Benchmark", created_at: time } = await summary.json();
  document.querySelector("[data-remote-title]").textContent = title;
  document.title = document.title.replace(/^Benchmark/, () => title);
  find("time").dateTime = time;
  find("time").textContent = `${time.slice(0, 16).replace("T", " ")} UTC`;
  find("code").textContent = await code.text();
  storeJob({ id, title, runner });
}

// Milliseconds between two attempts. The island reports that the runner does not answer.
const delay = 3000;

// The answer, after as many attempts as it takes; undefined if the runner refuses the request.
async function request(url, options) {
  for (;;) {
    try {
      const answer = await fetch(url, options);
      if (answer.ok) return answer;
      if (answer.status < 500) return undefined;
    } catch {
      // The runner does not answer.
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
