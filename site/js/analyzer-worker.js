// The analyzer's worker. Its first message contains the addresses of the modules; every later one is a
// question {id, method, request}, answered in order with {id, answer} or {id, error}.
//
// There are two modules: a small one for Python, which every page needs, and one that reads every
// language, which is fetched with the first source that is not plain Python. Where the site's team has rules of
// its own, they go with every source, and only the second module reads them. Projects and exercises are for it too.

import { isPlainPython } from "./plain-python.js";

// Methods that only the second module has.
const ofSecondModule = new Set([
  "judge",
  "patch",
  "project_context",
  "included_requirements",
  "survey_plan",
  "survey_finish",
]);

let addresses;
let python;
let all;
let team;

self.addEventListener("message", async ({ data }) => {
  if (data.modules) {
    addresses = data.modules;
    python = load(addresses.python).catch(() => {
      throw new Error("The analyzer did not load. Check the connection and reload the page.");
    });
    team = data.rules ? loadRules(data.rules) : [];
    await python;
    self.postMessage({ ready: true });
    return;
  }
  const { id, method, request } = data;
  try {
    self.postMessage({ id, answer: await answer(method, request) });
  } catch (error) {
    // A request that was refused is an Error of the module; anything else (a trap) leaves the
    // module in an unknown state.
    const broken = error instanceof WebAssembly.RuntimeError;
    self.postMessage({ id, error: broken ? "The analyzer stopped on this text." : error.message, broken });
  }
});

async function answer(method, request) {
  const small = await python;
  if (ofSecondModule.has(method)) return (await everyLanguage())[method](JSON.stringify(request));
  if (request.source === undefined || method === "language") return small[method](JSON.stringify(request));
  const { source, path, ...rest } = request;
  const language = rest.language || JSON.parse(small.language(JSON.stringify({ source, path })));
  const rules = await team;
  const asked = { ...rest, source, language, rules };
  // A project is counted in the second module, whatever its files are.
  if (method === "survey_add") return (await everyLanguage())[method](JSON.stringify({ ...asked, path }));
  const isPlain = language === "python" && isPlainPython(source) && rules.length === 0 && !rest.first_party_modules;
  const module = isPlain ? small : await everyLanguage();
  return module[method](JSON.stringify(asked));
}

async function loadRules(address) {
  const answer = await fetch(address).catch(() => undefined);
  if (!answer?.ok) throw new Error("The team's rules did not load. Check the connection and reload the page.");
  return (await answer.json()).rules;
}

async function everyLanguage() {
  if (all) return all;
  self.postMessage({ loading: true });
  try {
    return (all = await load(addresses.all));
  } catch {
    throw new Error("The part of the analyzer for this language did not load. Check the connection and try again.");
  } finally {
    self.postMessage({ ready: true });
  }
}

async function load({ script, wasm }) {
  const module = await import(script);
  await module.default({ module_or_path: wasm });
  return module;
}
