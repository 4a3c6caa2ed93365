// Checks a folder file by file, in the worker, reports the progress, and then the result. See folder.js for which
// files those are, and src/playground/project.rs for what the page shows.

import { analyzerStops, askAnalyzer } from "./analyzer-client.js";
import { skip, textOf } from "./files.js";

const severities = ["error", "warning", "advice", "info"];
const tellEvery = 100;
// The analyzer gives up on a file that takes too long, and its count is lost with it.
const mostStops = 5;

// `target` is what to judge for; `tell` gets every state; once `isWanted` is false, nothing more is read or told. The
// answer is how to ask about each file again, by its path.
export async function survey(folder, target, tell, isWanted) {
  const stopped = new Set();
  while (isWanted()) {
    const stops = analyzerStops();
    const found = await once(folder, target, tell, isWanted, stopped);
    if (!found) return undefined;
    if (analyzerStops() === stops) {
      tell(found.state);
      return found.requests;
    }
    if (stopped.size > mostStops) throw new Error("The analyzer was stopped too often on this folder. Run hipward check on it.");
  }
  return undefined;
}

async function once({ name, files, repositories, skipped: outside }, target, tell, isWanted, stopped) {
  // Results of an earlier check are discarded.
  await askAnalyzer("survey_finish", {});
  const skipped = new Map([...outside].map(([why, paths]) => [why, [...paths]]));
  const known = await readable(files, skipped);
  const contexts = await projectContextsOf(known, files, repositories);
  const requests = new Map();
  const found = [];
  // The command line reads them.
  const settings = files.map(({ path }) => path).filter((path) => /(^|\/)hipward\.toml$/.test(path));
  let told = 0;
  for (const [done, file] of known.entries()) {
    if (performance.now() - told > tellEvery) {
      told = performance.now();
      tell({ name, done, total: known.length });
      // Lets the page breathe between files.
      await new Promise((resolve) => setTimeout(resolve));
    }
    const { path, language } = file;
    const { text, why } = stopped.has(path) ? { why: "slow" } : await textOf(file);
    if (!isWanted()) return undefined;
    if (text === undefined) {
      skip(skipped, why, path);
      continue;
    }
    if (/(^|\/)pyproject\.toml$/.test(path) && text.includes("[tool.hipward")) settings.push(path);
    const stops = analyzerStops();
    const request = { language, ...contexts.get(folderOf(path))(path) };
    try {
      const report = await askAnalyzer("survey_add", { ...request, path, target, source: text });
      requests.set(path, request);
      found.push({ path, counts: counted(report), fixes: report.findings.filter(isSafelyFixed).length });
    } catch (error) {
      if (analyzerStops() === stops) throw error;
      stopped.add(path);
      return {};
    }
  }
  if (!isWanted()) return undefined;
  const plan = await askAnalyzer("survey_plan", { target });
  const summary = await askAnalyzer("survey_finish", {});
  const left = [...skipped].map(([why, paths]) => ({ why, count: paths.length, paths: paths.slice(0, 20) }));
  const { length: total } = known;
  return { requests, state: { name, done: total, total, files: found, skipped: left, settings, summary, plan } };
}

// Files of the kinds that the analyzer reads, by their names.
async function readable(files, skipped) {
  const known = [];
  let others = [];
  for (let at = 0; at < files.length; at += 1000) {
    const some = files.slice(at, at + 1000);
    const languages = await askAnalyzer("languages", { paths: some.map(({ path }) => path) });
    some.forEach((file, index) => {
      if (languages[index]) known.push({ ...file, language: languages[index] });
      else others.push(file);
    });
  }
  // Requirements with names of their own. Such a file may include more, so it is read and the question repeated.
  const read = async (file) => ({ path: file.path, source: (await textOf(file)).text });
  const sources = await Promise.all(known.filter(mayInclude).map(read));
  for (let isNew = sources.length > 0; isNew && others.length > 0; ) {
    const files = [...sources, ...others.map(({ path }) => ({ path }))].sort(byPath);
    const included = new Set(await askAnalyzer("included_requirements", { files }));
    const fresh = others.filter(({ path }) => included.has(path));
    others = others.filter(({ path }) => !included.has(path));
    known.push(...fresh.map((file) => ({ ...file, language: "requirements" })));
    sources.push(...(await Promise.all(fresh.map(read))));
    isNew = fresh.length > 0;
  }
  for (const { path } of others) skip(skipped, "kind", path);
  return known.sort(byPath);
}

const byPath = (a, b) => (a.path < b.path ? -1 : 1);

const including = new Set(["requirements", "pyproject", "dockerfile", "yaml", "shell", "makefile", "document"]);
const mayInclude = ({ path, language }) => including.has(language) || /(^|\/)setup\.py$/.test(path);

// The project context that the analyzer gets for the files in each folder: from the surrounding files and build files.
async function projectContextsOf(known, all, repositories) {
  const aboveCpp = new Set();
  for (const { path } of known.filter(({ language }) => language === "cuda-cpp")) {
    for (let folder = folderOf(path); !aboveCpp.has(folder); folder = folderOf(folder)) aboveCpp.add(folder);
  }
  // Others may import such a module in a `try`.
  const optional = known.filter(({ path }) => /(flash|attn|attention|apex|xformers|fused|kernel|triton|trt)[^/]*\.py$/.test(path));
  const besideOptional = new Set(optional.map(({ path }) => folderOf(path)));
  const tells = ({ path, language }) =>
    /(^|\/)setup\.py$/.test(path) ||
    language === "cmake" ||
    // Its functions may be gates of other modules.
    /((util|device|platform|cuda|gpu|env|compat|common|hardware|version|torch|misc)[^/]*|\/utils\/__init__)\.py$/.test(path) ||
    // It may save a checkpoint that another module loads.
    /(train|main|engine|checkpoint|save|run)[^/]*\.py$/.test(path) ||
    (path.endsWith(".py") && besideOptional.has(folderOf(path))) ||
    ((path.endsWith(".py") || path.endsWith(".sh") || path.endsWith(".toml") || language === "makefile") && aboveCpp.has(folderOf(path))) ||
    // It may limit the releases of libraries.
    language === "requirements" ||
    ((language === "pyproject" || /(^|\/)(env|conda)[^/]*\.ya?ml$/.test(path)) && !/\.lock$/.test(path));
  const files = repositories.map((path) => ({ path: path ? `${path}/.git` : ".git" }));
  // It builds, and is of no kind that is checked.
  const builds = all.filter(({ path }) => /(^|\/)build\.rs$/.test(path) && aboveCpp.has(folderOf(path)));
  for (const file of builds) files.push({ path: file.path, source: (await textOf(file)).text });
  // A folder with a licence of its own is a library that the project contains.
  const licenses = all.filter(({ path }) => /(^|\/)(LICENSE|COPYING)[^/]*$/.test(path) && aboveCpp.has(folderOf(path)));
  for (const { path } of licenses) files.push({ path });
  for (const file of known) {
    const isCpp = file.language === "cuda-cpp";
    const { text } = isCpp || tells(file) ? await textOf(file) : {};
    files.push({ path: file.path, source: isCpp ? text && headOf(text) : text });
  }
  const folders = await askAnalyzer("project_context", { files });
  return new Map(
    folders.map(({ path, first_party_modules, false_on_amd, saved_with_arguments, release_limits, imports_torch, ...of }) => [
      path,
      (file) => ({
        first_party_modules,
        false_on_amd,
        saved_with_arguments,
        release_limits,
        imports_torch,
        pytorch_extension: of.hipified.includes(file) ? true : of.not_hipified.includes(file) ? false : undefined,
        is_optional_module: of.optional_modules.includes(file),
        is_unused_on_amd: of.unused_on_amd.includes(file),
        has_hip_names: of.with_hip_names.includes(file),
        amd_macros: of.amd_macros.find(([path]) => path === file)?.[1],
        unset_switches: of.unset_switches.find(([path]) => path === file)?.[1],
      }),
    ]),
  );
}

// All that counts of C++: a header may give CUDA's names for HIP, or macros for AMD. A line that goes on ends here.
const headOf = (text) =>
  text
    .split("\n")
    .filter((line) => /^\s*#|hip(Error|Stream)_t/.test(line))
    .map((line) => line.replace(/\\\s*$/, ""))
    .join("\n");

const folderOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

const counted = ({ findings }) =>
  severities.map((severity) => findings.filter((finding) => finding.severity === severity).length);

const isSafelyFixed = ({ fix }) => fix?.applicability === "safe" && fix.edits.length > 0;
