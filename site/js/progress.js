// Stores which lessons were read, in this browser only. A lesson counts as read when its end was on the screen. The list of
// lessons also shows the exercises that were solved.

import { exercises, replace } from "./exercise-store.js";
import { progressFile } from "./progress-file.js";
import { recall, remember } from "./storage.js";

const key = "lessons-read";

export function progress() {
  const read = new Set(lessonsRead());
  markLinks(read);
  const article = document.querySelector("article[data-lesson]");
  const end = article?.querySelector(".neighbours");
  if (end) {
    new IntersectionObserver(([entry], observer) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      read.add(article.dataset.lesson);
      remember(key, JSON.stringify([...read]));
      markLinks(read);
    }).observe(end);
  }
  const summary = document.querySelector("[data-progress]");
  if (!summary) return;
  const show = () => {
    markLinks(read);
    markSolved();
    if (read.size > 0 || solved().length > 0) describe(summary, read);
  };
  summary.after(progressFile(() => read, (lessons) => {
    for (const lesson of lessons) read.add(lesson);
    remember(key, JSON.stringify([...read]));
    show();
  }));
  show();
}

function lessonsRead() {
  try {
    const stored = JSON.parse(recall(key) ?? "[]");
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

function markLinks(read) {
  for (const item of document.querySelectorAll("li[data-lesson]")) {
    const link = item.querySelector("a");
    const done = read.has(item.dataset.lesson);
    if (done === item.classList.contains("read")) continue;
    item.classList.toggle("read", done);
    if (done) link.insertAdjacentHTML("beforeend", ' <span class="mark"><span aria-hidden="true">\u2713</span><span class="visually-hidden">read</span></span>');
    else link.querySelector(".mark")?.remove();
  }
}

// The addresses of the solved exercises.
function solved() {
  return Object.entries(exercises()).flatMap(([address, state]) => (state.solved ? [address] : []));
}

function markSolved() {
  const addresses = solved();
  for (const item of document.querySelectorAll("main li[data-lesson]")) {
    item.querySelector(".solved")?.remove();
    const count = addresses.filter((address) => address.startsWith(`${item.dataset.lesson}/`)).length;
    if (count === 0) continue;
    const mark = document.createElement("span");
    mark.className = "solved hint";
    mark.textContent = ` ${count} ${count === 1 ? "exercise" : "exercises"} solved`;
    (item.querySelector("p") ?? item.lastChild).before(mark);
  }
}

// "3 of 7 lessons read. Continue with …", and a button that clears it.
function describe(summary, read) {
  const items = [...document.querySelectorAll("main li[data-lesson]")];
  const next = items.find((item) => !read.has(item.dataset.lesson))?.querySelector("a");
  const count = items.filter((item) => read.has(item.dataset.lesson)).length;
  const answers = solved().length;
  const answered = answers > 0 ? `, ${answers} ${answers === 1 ? "exercise" : "exercises"} solved` : "";
  summary.textContent = `${count} of ${items.length} lessons read${answered}. `;
  if (next) {
    const link = document.createElement("a");
    link.className = "button primary";
    link.href = next.href;
    link.textContent = `Continue with \u201c${next.textContent.trim()}\u201d`;
    summary.append(link, " ");
  }
  const reset = document.createElement("button");
  reset.type = "button";
  reset.textContent = "Reset";
  reset.title = "Forget which lessons were read and which exercises were solved in this browser, with your programs";
  reset.addEventListener("click", () => {
    remember(key, "[]");
    replace({});
    read.clear();
    markLinks(read);
    markSolved();
    summary.hidden = true;
  });
  summary.append(reset);
  summary.hidden = false;
}
