// Builds the npm package: node build.mjs OUT. The module and its glue code are the site's, from $HIPWARD_ASSETS.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const assets = process.env.HIPWARD_ASSETS ?? join(root, "target/assets");
const [out] = process.argv.slice(2);
if (!out) throw new Error("usage: node build.mjs OUT");

const manifest = JSON.parse(readFileSync(join(assets, "manifest.json"), "utf8"));
const [, version] = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.+)"$/m);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const name of ["analyzer.js", "browser.js", "node.js", "index.d.ts", "report.d.ts", "README.md"]) {
  copyFileSync(join(here, name), join(out, name));
}
// The module for all languages: size matters less for an installed package.
copyFileSync(join(assets, manifest["analyzer-all.js"]), join(out, "glue.js"));
copyFileSync(join(assets, manifest["analyzer-all_bg.wasm"]), join(out, "hipward.wasm"));
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, name), join(out, name));
const description = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
writeFileSync(join(out, "package.json"), `${JSON.stringify({ ...description, version }, undefined, 2)}\n`);
