// The module's functions, with values instead of JSON strings. node.js and browser.js load the module.

import * as glue from "./glue.js";

const call = (method, request) => JSON.parse(glue[method](JSON.stringify(request)));

// Options under the module's names. JSON leaves out undefined ones.
const named = ({ upTo, pytorchExtension, firstPartyModules, falseOnAmd, savedWithArguments, releaseLimits, importsTorch, isOptionalModule, isUnusedOnAmd, hasHipNames, amdMacros, unsetSwitches, ...options }) => ({
  ...options,
  up_to: upTo,
  pytorch_extension: pytorchExtension,
  first_party_modules: firstPartyModules,
  false_on_amd: falseOnAmd,
  saved_with_arguments: savedWithArguments,
  release_limits: releaseLimits,
  imports_torch: importsTorch,
  is_optional_module: isOptionalModule,
  is_unused_on_amd: isUnusedOnAmd,
  has_hip_names: hasHipNames,
  amd_macros: amdMacros,
  unset_switches: unsetSwitches,
});

const analyzer = Object.freeze({
  analyze: (source, options = {}) => call("analyze", { ...named(options), source }),
  apply: (source, indices, options = {}) => call("apply", { ...named(options), source, indices }),
  fixAll: (source, options = {}) => call("fix_all", { ...named(options), source }),
  project: (files, options = {}) => call("project", { ...options, files }),
  diff: (before, after) => call("diff", { before, after }),
  patch: (path, before, after) => call("patch", { path, before, after }),
  skeleton: (source, options = {}) => call("skeleton", { ...named(options), source }).source,
  language: (source, path) => call("language", { source, path }),
  rules: () => JSON.parse(glue.rules()),
});

let loading;

/** Loads the module, once; `read` returns it. */
export function start(read) {
  loading ??= Promise.resolve(read())
    .then((module) => glue.default({ module_or_path: module }))
    .then(() => analyzer)
    .catch((error) => {
      // The next call may pass another module.
      loading = undefined;
      throw error;
    });
  return loading;
}
