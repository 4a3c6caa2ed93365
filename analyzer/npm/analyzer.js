// The module's functions with values in place of JSON strings. Where the module comes from is for node.js and browser.js.

import * as glue from "./glue.js";

const ask = (method, request) => JSON.parse(glue[method](JSON.stringify(request)));

// Options as the module names them; what is undefined is not sent.
const named = ({ upTo, pytorchExtension, firstPartyModules, hasAmdSibling, hasHipNames, ...options }) => ({
  ...options,
  up_to: upTo,
  pytorch_extension: pytorchExtension,
  first_party_modules: firstPartyModules,
  has_amd_sibling: hasAmdSibling,
  has_hip_names: hasHipNames,
});

const analyzer = Object.freeze({
  analyze: (source, options = {}) => ask("analyze", { ...named(options), source }),
  apply: (source, indices, options = {}) => ask("apply", { ...named(options), source, indices }),
  fixAll: (source, options = {}) => ask("fix_all", { ...named(options), source }),
  project: (files, options = {}) => ask("project", { ...options, files }),
  diff: (before, after) => ask("diff", { before, after }),
  patch: (path, before, after) => ask("patch", { path, before, after }),
  skeleton: (source, options = {}) => ask("skeleton", { ...named(options), source }).source,
  language: (source, path) => ask("language", { source, path }),
  rules: () => JSON.parse(glue.rules()),
});

let loading;

/** Starts the module, once; `read` says where it is. */
export function start(read) {
  loading ??= Promise.resolve(read())
    .then((module) => glue.default({ module_or_path: module }))
    .then(() => analyzer)
    .catch((error) => {
      // The next call may know better where the module is.
      loading = undefined;
      throw error;
    });
  return loading;
}
