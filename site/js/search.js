// The search: a dialog over any page. It looks through one file, which is made of the site's pages (src/search.rs), and
// leads to the heading under which the words stand.

import { element } from "./element.js";
import { base } from "./runner.js";

const most = 20;
// How much of a text is shown around the first word that was found.
const around = 70;

let dialog;
let index;

export function openSearch() {
  dialog ??= build();
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input").select();
}

async function load() {
  const answer = await fetch(`${base}search.json`);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

function build() {
  const input = element("input", { type: "search", placeholder: "Rules, lessons, ops, variables", autocomplete: "off", spellcheck: false });
  input.setAttribute("aria-label", "Search this site");
  const status = element("p", { className: "hint" });
  status.setAttribute("role", "status");
  const list = element("ul", { className: "answers" });
  list.setAttribute("role", "list");
  const close = element("button", { type: "button", textContent: "Close" });
  const made = element("dialog", { className: "dialog search-dialog" }, [element("div", { className: "actions" }, [input, close]), status, list]);
  made.setAttribute("aria-label", "Search");

  const show = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    try {
      const pages = await (index ??= load());
      const found = words.length > 0 ? search(pages, words) : [];
      list.replaceChildren(...found.slice(0, most).map((answer) => item(answer, words)));
      status.textContent = words.length > 0 ? counted(found.length) : "";
    } catch {
      index = undefined;
      status.textContent = "The search did not load. Check the connection and type again.";
    }
  };
  input.addEventListener("input", show);
  close.addEventListener("click", () => made.close());
  made.addEventListener("keydown", (event) => {
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
  // A click on what is behind the dialog, or on an answer on this very page.
  made.addEventListener("click", (event) => {
    if (event.target === made || event.target.closest("a")) made.close();
  });
  document.body.append(made);
  return made;
}

function counted(count) {
  if (count === 0) return "Nothing has all of these words.";
  return count > most ? `The best ${most} of ${count} pages.` : count === 1 ? "1 page." : `${count} pages.`;
}

// Pages that have every word, the best first, each with the best of its sections.
function search(pages, words) {
  const found = [];
  for (const page of pages) {
    const whole = added([worth(page.title, 8, words), worth(page.about, 2, words)]);
    let best;
    for (const section of [{ id: "", title: "", text: "" }, ...page.sections]) {
      const values = added([whole, worth(section.title, 4, words), worth(section.text, 1, words)]);
      if (values.includes(0)) continue;
      const value = values.reduce((sum, one) => sum + one);
      if (!best || value > best.value) best = { page, section, value };
    }
    if (best) found.push(best);
  }
  return found.sort((a, b) => b.value - a.value);
}

const added = ([first, ...others]) => first.map((value, at) => others.reduce((sum, values) => sum + values[at], value));

// What each word is worth in a text: half where it only stands inside another word.
function worth(text, value, words) {
  const lower = text.toLowerCase();
  return words.map((word) => {
    let at = lower.indexOf(word);
    if (at < 0) return 0;
    while (at > 0 && /[\p{L}\p{N}]/u.test(lower[at - 1])) {
      at = lower.indexOf(word, at + 1);
      if (at < 0) return value / 2;
    }
    return value;
  });
}

function item({ page, section }, words) {
  const link = element("a", { href: page.address + (section.id ? `#${section.id}` : "") }, [
    element("span", { className: "kind", textContent: page.kind }),
    " ",
    element("strong", {}, marked(page.title, words)),
    ...(section.title ? [" › ", ...marked(section.title.trim(), words)] : []),
  ]);
  const isInText = words.some((word) => section.text.toLowerCase().includes(word));
  return element("li", {}, [link, element("p", {}, marked(isInText ? excerpt(section.text, words) : page.about, words))]);
}

function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0));
  const from = first > around ? text.indexOf(" ", first - around) + 1 : 0;
  const to = text.indexOf(" ", first + around);
  return `${from > 0 ? "… " : ""}${text.slice(from, to < 0 ? undefined : to).trim()}${to < 0 ? "" : " …"}`;
}

// The text's pieces, the words among them marked.
function marked(text, words) {
  const pattern = new RegExp(`(${words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "gi");
  return text.split(pattern).map((piece, at) => (at % 2 ? element("mark", { textContent: piece }) : piece));
}
