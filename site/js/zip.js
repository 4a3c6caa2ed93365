// Makes a zip archive. Loaded with the first download.

import { strToU8, zipSync } from "fflate";

// `files` are `{path, text}`.
export const zip = (files) => zipSync(Object.fromEntries(files.map(({ path, text }) => [path, strToU8(text)])));
