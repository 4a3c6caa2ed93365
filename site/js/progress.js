// Stores which lessons were read, in this browser only. A lesson counts as read when its end was on the screen. The list of
// lessons also shows how many exercises were solved and how many questions were answered.

import { answers } from "./answer-store.js";
import { exercises } from "./exercise-store.js";
import { element } from "./element.js";
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
    markDone();
    if (read.size > 0 || solved().length > 0 || answered().length > 0) describe(summary, read);
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

// The addresses of the solved exercises, and of the answered questions.
const solved = () => Object.entries(exercises.all()).flatMap(([address, state]) => (state.solved ? [address] : []));
const answered = () => Object.keys(answers.all());

// "2 exercises solved", "1 question answered".
function counts(isCounted) {
  const text = (addresses, noun, done) => {
    const count = addresses.filter(isCounted).length;
    return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"} ${done}`];
  };
  return [...text(solved(), "exercise", "solved"), ...text(answered(), "question", "answered")];
}

function markDone() {
  for (const item of document.querySelectorAll("main li[data-lesson]")) {
    item.querySelector(".solved")?.remove();
    const done = counts((address) => address.startsWith(`${item.dataset.lesson}/`));
    if (done.length === 0) continue;
    const mark = element("span", { className: "solved hint", textContent: ` ${done.join(", ")}` });
    (item.querySelector("p") ?? item.lastChild).before(mark);
  }
}

// "3 of 7 lessons read. Continue with …", and a button that clears it.
function describe(summary, read) {
  const items = [...document.querySelectorAll("main li[data-lesson]")];
  const next = items.find((item) => !read.has(item.dataset.lesson))?.querySelector("a");
  const count = items.filter((item) => read.has(item.dataset.lesson)).length;
  summary.textContent = `${[`${count} of ${items.length} lessons read`, ...counts(() => true)].join(", ")}. `;
  if (next) {
    const textContent = `Continue with \u201c${next.textContent.trim()}\u201d`;
    summary.append(element("a", { className: "button primary", href: next.href, textContent }), " ");
  }
  const reset = element("button", { type: "button", textContent: "Reset" });
  reset.title = "Remove from this browser: lessons read, answers, exercises solved and your programs";
  reset.addEventListener("click", () => {
    remember(key, "[]");
    exercises.replace({});
    answers.replace({});
    read.clear();
    markLinks(read);
    markDone();
    summary.hidden = true;
  });
  summary.append(reset);
  summary.hidden = false;
}
