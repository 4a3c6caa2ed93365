// For browsers and bundlers: the module is an asset, whose address the bundler writes in here.

import { start } from "./analyzer.js";

export const load = (module) => start(() => module ?? new URL("./hipward.wasm", import.meta.url));
