// The module's functions with values in place of JSON strings. Where the module comes from is for node.js and browser.js.

import * as glue from "./glue.js";

const ask = (method, request) => JSON.parse(glue[method](JSON.stringify(request)));

const analyzer = Object.freeze({
  analyze: (source, options = {}) => ask("analyze", { ...options, source }),
  apply: (source, indices, options = {}) => ask("apply", { ...options, source, indices }),
  fixAll: (source, { upTo = "safe", ...options } = {}) => ask("fix_all", { ...options, source, up_to: upTo }),
  diff: (before, after) => ask("diff", { before, after }),
  skeleton: (source, options = {}) => ask("skeleton", { ...options, source }).source,
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
