// For Node: the module is a file beside this one.

import { readFile } from "node:fs/promises";
import { start } from "./analyzer.js";

export const load = (module) => start(() => module ?? readFile(new URL("./hipward.wasm", import.meta.url)));
