// Stores which lessons were read, in this browser only. A lesson counts as read when its end was on the screen.

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
  if (summary && read.size > 0) describe(summary, read);
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

// "3 of 7 lessons read. Continue with …", and a button that clears it.
function describe(summary, read) {
  const items = [...document.querySelectorAll("main li[data-lesson]")];
  const next = items.find((item) => !read.has(item.dataset.lesson))?.querySelector("a");
  const count = items.filter((item) => read.has(item.dataset.lesson)).length;
  summary.textContent = `${count} of ${items.length} lessons read. `;
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
  reset.title = "Forget which lessons were read in this browser";
  reset.addEventListener("click", () => {
    remember(key, "[]");
    markLinks(new Set());
    summary.hidden = true;
  });
  summary.append(reset);
  summary.hidden = false;
}
