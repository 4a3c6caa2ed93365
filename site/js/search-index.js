// The index behind the search: MiniSearch over the sections of every page, from the file that src/search.rs writes. It corrects typos, completes words, knows
// synonyms, and falls back to some of the words where no section has all of them.

import MiniSearch from "minisearch";

// Synonyms. Each word also finds the others of its row.
const synonyms = [
  ["ddp", "distributeddataparallel", "torchrun", "distributed"],
  ["fsdp", "distributed"],
  ["nccl", "rccl"],
  ["sdpa", "scaled_dot_product_attention", "attention"],
  ["amp", "autocast"],
  ["oom", "memory"],
  ["warp", "wavefront", "wave"],
  ["lds", "shared"],
  ["nvml", "pynvml", "amdsmi"],
  ["cudnn", "miopen"],
  ["cublas", "hipblas", "rocblas"],
  ["profiler", "profiling", "rocprof", "nsight"],
  ["isa", "assembly", "sass"],
  ["mi300", "mi300x", "gfx942"],
  ["mi350", "mi355x", "gfx950"],
  ["mi200", "mi250x", "gfx90a"],
];

// Stop words.
const ignored = new Set("a an and are do does for from has how i in is it my no not of on or the this to what why with".split(" "));

const boost = { title: 8, keywords: 6, heading: 4, about: 2, text: 1 };
// A page whose name or keyword is the query, or contains it, is ranked before pages that mention it.
const namedBoost = { whole: 12, part: 4 };

// A lesson or rule about a word is ranked before pages that mention many words: the glossary has each of them.
const kindWeight = { Explanation: 0.6, Reference: 0.5 };

export function buildIndex({ pages, common, words, places }) {
  const texts = sectionWords(words, places);
  const index = new MiniSearch({
    fields: Object.keys(boost),
    searchOptions: {
      boost,
      // Short words get no prefix or fuzzy match: a typo in one makes another word.
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.25 : false),
      weights: { fuzzy: 0.2, prefix: 0.5 },
    },
  });
  const sections = [];
  let place = 0;
  for (const page of pages) {
    const listed = page.sections.map(([title, id = fragmentOf(title)]) => ({ id, title, place: place++ }));
    for (const section of [{ id: "", title: "" }, ...listed]) {
      const text = (texts.get(section.place) ?? []).join(" ");
      index.add({ id: sections.length, title: page.title, keywords: (page.keywords ?? []).join(" "), about: page.about, heading: section.title, text });
      sections.push({ page, section });
    }
  }
  const commonWords = new Set(common.split(" "));
  return (query) => search(index, sections, commonWords, query);
}

const fragmentOf = (title) => title.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).join("-");

// The words of each section, by its place among all sections.
function sectionWords(words, places) {
  const found = new Map();
  const lists = places.split(";");
  let before = [];
  words.split(" ").forEach((shortened, at) => {
    // A digit says how many characters are those of the word before.
    const letters = [...before.slice(0, Number(shortened[0])), ...shortened.slice(1)];
    const word = letters.join("");
    before = letters;
    let place = 0;
    for (const step of lists[at].split(",")) {
      place += Number(step);
      if (!found.has(place)) found.set(place, []);
      found.get(place).push(word);
    }
  });
  return found;
}

// `complete` is whether each result has every word, except for common ones, whose places are not in the index. A result is a page with its best section and the words that matched.
function search(index, sections, commonWords, query) {
  const typed = query.toLowerCase().split(/[\s"'`()\[\]{}:;,=]+/).filter(Boolean);
  const telling = typed.filter((word) => !ignored.has(word));
  const words = telling.length > 0 ? telling : typed;
  if (words.length === 0) return { complete: true, answers: [] };
  const queries = words.map(withSynonyms);
  const rare = words.map((word) => withoutCommon(word, commonWords)).filter(Boolean);
  const required = { combineWith: "AND", queries: rare.length > 0 ? rare.map(withSynonyms) : queries };
  const matching = new Set(index.search(required).map(({ id }) => id));
  const complete = matching.size > 0;
  const some = index.search({ combineWith: "OR", queries });
  const found = complete ? some.filter(({ id }) => matching.has(id)) : some;
  const best = new Map();
  for (const { id, score, terms } of found) {
    const { page, section } = sections[id];
    const value = score * nameBoost(page, words) * (kindWeight[page.kind] ?? 1);
    if (value > (best.get(page)?.value ?? 0)) best.set(page, { page, section, words: terms, value });
  }
  return { complete, answers: [...best.values()].sort((a, b) => b.value - a.value) };
}

// A word with punctuation, such as CUDA_LAUNCH_BLOCKING, is several words in the index, and all of them must match.
function withSynonyms(word) {
  const row = synonyms.find((row) => row.includes(word)) ?? [];
  const all = [word, ...row.filter((other) => other !== word)];
  return { combineWith: "OR", queries: all.map((one) => ({ combineWith: "AND", queries: [one] })) };
}

function withoutCommon(word, commonWords) {
  const parts = partsOf(word);
  const rare = parts.filter((part) => !commonWords.has(part));
  // The whole word, so that it finds its synonyms, if no part of it is common.
  return rare.length === parts.length ? word : rare.join(" ");
}

// PYTORCH_ALLOC_CONF is three words.
const partsOf = (text) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);

// "pynvml (HW101)" is named by pynvml and by hw101, "Fused RMSNorm" in part by rmsnorm.
function nameBoost(page, words) {
  const [name, id] = page.title.toLowerCase().split(/ (?=\()/);
  const query = words.join(" ");
  const names = [name, ...(page.keywords ?? []).map((keyword) => keyword.toLowerCase())];
  if (names.includes(query) || `(${query})` === id) return namedBoost.whole;
  if (names.some((one) => words.every((word) => one.split(" ").includes(word)))) return namedBoost.part;
  // PYTORCH_CUDA_ALLOC_CONF=… contains the name of the rule cuda-alloc-conf.
  const within = partsOf(query);
  const parts = name.split("-");
  return parts.length > 2 && parts.every((part) => within.includes(part)) ? namedBoost.part : 1;
}
