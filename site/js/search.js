// The search dialog. It searches one index file (src/search.rs writes it) and links to the heading of each match.

import { element } from "./element.js";
import { base } from "./runner.js";
import { buildIndex } from "./search-index.js";

const most = 20;
// The headings of the groups of results. Each is the title of its kind elsewhere on the site.
const titles = { Lesson: "Lessons", "How-to": "How-to guides", Explanation: "Explanations", Rule: "Rules", Op: "Ops", Page: "Pages" };
// Characters that are shown around the first match.
const around = 70;

let dialog;
let index;
// The texts of the sections, for excerpts. Loaded after the index, which is enough to search.
let texts;

export function openSearch() {
  dialog ??= build();
  if (!dialog.open) dialog.showModal();
  // The index loads before the first character is typed. The query shows an error.
  loadIndex().catch(() => {});
  dialog.querySelector("input").select();
}

// After an error, the next call loads it again.
function loadIndex() {
  index ??= load("search.json").then(buildIndex).catch((error) => {
    index = undefined;
    throw error;
  });
  return index;
}

async function load(file) {
  const answer = await fetch(`${base}${file}`);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

function build() {
  const input = element("input", { type: "search", placeholder: "Rules, lessons, ops, variables", autocomplete: "off", spellcheck: false });
  input.setAttribute("aria-label", "Search this site");
  const status = element("p", { className: "hint" });
  status.setAttribute("role", "status");
  const list = element("div", { className: "answers" });
  const close = element("button", { type: "button", textContent: "Close" });
  const made = element("dialog", { className: "dialog search-dialog" }, [element("div", { className: "actions" }, [input, close]), status, list]);
  made.setAttribute("aria-label", "Search");

  const show = async () => {
    const query = input.value;
    try {
      const search = await loadIndex();
      // A query that was typed while the index loaded runs after it.
      if (query !== input.value) return;
      const { complete, answers } = search(query);
      list.replaceChildren(...groups(answers));
      status.textContent = query.trim() ? counted(answers.length, complete) : "";
      // Without the texts, the results show the pages' summaries.
      if (texts === undefined) {
        texts = [];
        texts = await load("search-texts.json").catch(() => undefined);
        // The results of what was typed meanwhile, unless one of them has the focus.
        if (texts && !list.contains(document.activeElement)) list.replaceChildren(...groups(search(input.value).answers));
      }
    } catch {
      status.textContent = "The search did not load. Check the connection and type again.";
    }
  };
  input.addEventListener("input", show);
  close.addEventListener("click", () => made.close());
  made.addEventListener("keydown", (event) => {
    // The search field would only be emptied.
    if (event.key === "Escape") {
      event.preventDefault();
      made.close();
      return;
    }
    const stops = [input, ...list.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && at >= 0) {
      event.preventDefault();
      stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
    } else if (event.key === "Enter" && at === 0) {
      stops[1]?.click();
    }
  });
  // A click on the backdrop, or on a result on this page.
  made.addEventListener("click", (event) => {
    if (event.target === made || event.target.closest("a")) made.close();
  });
  document.body.append(made);
  return made;
}

function counted(count, complete) {
  if (count === 0) return "Nothing has any of these words.";
  const pages = count > most ? `The best ${most} of ${count} pages` : count === 1 ? "1 page" : `${count} pages`;
  return complete ? `${pages}.` : `Nothing has all of these words. ${pages} with some of them.`;
}

// The best results by kind: the kind of the best result first.
function groups(answers) {
  return [...Map.groupBy(answers.slice(0, most), ({ page }) => page.kind)].map(([kind, found]) => {
    const list = element("ul", {}, found.map(item));
    list.setAttribute("role", "list");
    return element("section", {}, [element("h2", { textContent: titles[kind] ?? kind }), list]);
  });
}

function item({ page, section, words }) {
  const link = element("a", { href: page.address + (section.id ? `#${section.id}` : "") }, [
    element("strong", {}, marked(page.title, words)),
    ...(section.title ? [" › ", ...marked(section.title.trim(), words)] : []),
  ]);
  const text = texts?.[section.place] ?? "";
  const isInText = words.some((word) => text.toLowerCase().includes(word));
  return element("li", {}, [link, element("p", {}, marked(isInText ? excerpt(text, words) : page.about, words))]);
}

function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0));
  const from = first > around ? text.indexOf(" ", first - around) + 1 : 0;
  const to = text.indexOf(" ", first + around);
  return `${from > 0 ? "… " : ""}${text.slice(from, to < 0 ? undefined : to).trim()}${to < 0 ? "" : " …"}`;
}

// The pieces of the text, with the matching words marked.
function marked(text, words) {
  const pattern = new RegExp(`(${words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "gi");
  return text.split(pattern).map((piece, at) => (at % 2 ? element("mark", { textContent: piece }) : piece));
}
