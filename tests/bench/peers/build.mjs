// The same lesson as other documentation generators publish it, with their default settings.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { python } from '../../support/server.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const cache = process.env.HIPWARD_CACHE ?? join(process.env.HOME, '.cache/hipward');
const mdbookVersion = '0.5.4';
const mkdocsVersion = '9.8.1';

// What a program prints is shown if it fails.
function run(program, args, cwd) {
  try {
    execFileSync(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(`${[program, ...args].join(' ')} failed:\n${error.stdout ?? ''}${error.stderr ?? error.message}`);
  }
}

/** Installs Lighthouse and Starlight as locked, and returns the folder of their packages. */
export const packages = () => install(here, 'bench-peers');

/** Installs ruff's module for Node as locked, and returns the folder of its package. */
export const ruffWasm = () => install(join(here, 'ruff-wasm'), 'bench-ruff-wasm');

function install(from, name) {
  const folder = join(cache, name);
  const lock = 'package-lock.json';
  const isCurrent = existsSync(join(folder, lock)) && readFileSync(join(folder, lock)).equals(readFileSync(join(from, lock)));
  if (!isCurrent || !existsSync(join(folder, 'node_modules'))) {
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(from, 'package.json'), join(folder, 'package.json'));
    copyFileSync(join(from, lock), join(folder, lock));
    // Not `npm ci`, which refuses the lock: a package of Lighthouse requires the latest version of another.
    run('npm', ['install', '--silent', '--no-audit', '--no-fund'], folder);
  }
  return folder;
}

/** Builds the lesson with each generator in `work`: [{ name, folder, path }], the site's folder and the page's path. */
export function buildPeers(lesson, work) {
  const source = join(work, 'lesson');
  run(python, [join(here, 'lesson.py'), lesson, source]);
  const title = readFileSync(join(source, 'title'), 'utf8');
  const markdown = readFileSync(join(source, 'lesson.md'), 'utf8');
  const figures = readdirSync(source).filter((name) => name.endsWith('.svg'));
  // Writes the lesson and its figures into a new folder.
  const write = (folder, front) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'lesson.md'), `${front}\n${markdown}`);
    for (const name of figures) copyFileSync(join(source, name), join(folder, name));
  };
  return [mdbook, mkdocs, starlight].map((build) => build(work, title, write));
}

function mdbook(work, title, write) {
  const installed = join(cache, `mdbook-${mdbookVersion}`);
  if (!existsSync(join(installed, 'bin/mdbook'))) {
    run('cargo', ['install', 'mdbook', '--version', mdbookVersion, '--locked', '--quiet', '--root', installed]);
  }
  const folder = join(work, 'mdbook');
  write(join(folder, 'src'), `# ${title}\n`);
  writeFileSync(join(folder, 'book.toml'), `[book]\ntitle = "Lessons"\nlanguage = "en"\n`);
  writeFileSync(join(folder, 'src/SUMMARY.md'), `* [${title}](lesson.md)\n`);
  run(join(installed, 'bin/mdbook'), ['build'], folder);
  return { name: `mdBook ${mdbookVersion}`, folder: join(folder, 'book'), path: '/lesson.html' };
}

function mkdocs(work, title, write) {
  const installed = join(cache, `mkdocs-material-${mkdocsVersion}`);
  if (!existsSync(join(installed, 'bin/mkdocs'))) {
    run('python3', ['-m', 'venv', installed]);
    run(join(installed, 'bin/pip'), ['install', '--quiet', `mkdocs-material==${mkdocsVersion}`]);
  }
  const folder = join(work, 'mkdocs');
  write(join(folder, 'docs'), `# ${title}\n`);
  // Fonts of another host cannot be loaded everywhere; without them the page is faster.
  const settings = `site_name: Lessons\nsite_description: Lessons\nnav: [lesson.md]\ntheme: { name: material, font: false }\n`;
  writeFileSync(join(folder, 'mkdocs.yml'), `${settings}markdown_extensions: [pymdownx.highlight, pymdownx.superfences]\n`);
  run(join(installed, 'bin/mkdocs'), ['build', '--quiet'], folder);
  return { name: `mkdocs-material ${mkdocsVersion}`, folder: join(folder, 'site'), path: '/lesson/' };
}

function starlight(work, title, write) {
  const installed = packages();
  // Inside the folder of the packages, because Astro's compiler does not find them through a link.
  const folder = join(installed, 'starlight');
  rmSync(folder, { recursive: true, force: true });
  write(join(folder, 'src/content/docs'), `---\ntitle: ${JSON.stringify(title)}\ndescription: A lesson.\n---\n`);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(
    join(folder, 'astro.config.mjs'),
    `import { defineConfig } from 'astro/config';
import starlight from '@astrojs/starlight';
export default defineConfig({ telemetry: false, integrations: [starlight({ title: 'Lessons' })] });
`,
  );
  writeFileSync(
    join(folder, 'src/content.config.ts'),
    `import { defineCollection } from 'astro:content';
import { docsLoader } from '@astrojs/starlight/loaders';
import { docsSchema } from '@astrojs/starlight/schema';
export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };
`,
  );
  run(process.execPath, [join(installed, 'node_modules/astro/astro.js'), 'build', '--silent'], folder);
  const { version } = JSON.parse(readFileSync(join(installed, 'node_modules/@astrojs/starlight/package.json')));
  return { name: `Starlight ${version}`, folder: join(folder, 'dist'), path: '/lesson/' };
}
