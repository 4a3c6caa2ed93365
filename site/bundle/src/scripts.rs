//! site/js and site/css to single files, and site/static as it is.

use crate::Layout;
use crate::output::File;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scripts that a page or a worker loads by itself; everything else in site/js is imported.
const ENTRIES: [&str; 12] = [
    "boot",
    "interactive",
    "editor",
    "exercise",
    "sign-in",
    "analyzer-worker",
    "emulator-client",
    "emulator-worker",
    "folder",
    "run-kernel",
    "search",
    "zip",
];

/// wasm-bindgen's glue, bundled so that its snippets need no files of their own.
const GLUE: [&str; 6] = [
    "analyzer",
    "analyzer-all",
    "emulator",
    "island-isa",
    "island-job",
    "island-playground",
];

/// Bundles scripts and styles and adds them.
pub(crate) fn build(layout: &Layout, files: &mut Vec<File>) -> Result<()> {
    for name in ENTRIES {
        let entry = layout.root.join("site/js").join(format!("{name}.js"));
        files.push(File::new(format!("{name}.js"), esbuild(layout, &entry)?));
    }
    for name in GLUE {
        let entry = layout
            .out
            .join(".work")
            .join(name)
            .join(format!("{name}.js"));
        files.push(File::new(format!("{name}.js"), esbuild(layout, &entry)?));
    }
    let mut styles = String::new();
    for path in sorted(&layout.root.join("site/css"))? {
        styles.push_str(&fs::read_to_string(&path)?);
        styles.push('\n');
    }
    let whole = layout.out.join(".work/site.css");
    fs::write(&whole, styles)?;
    files.push(File::new("site.css".to_owned(), esbuild(layout, &whole)?));
    for path in sorted(&layout.root.join("site/static"))? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        files.push(File::new(name, fs::read(&path)?));
    }
    Ok(())
}

fn esbuild(layout: &Layout, entry: &Path) -> Result<Vec<u8>> {
    let program = layout.root.join("site/node_modules/.bin/esbuild");
    let output = Command::new(&program)
        .arg(entry)
        .args([
            "--bundle",
            "--format=esm",
            "--minify",
            "--target=es2022",
            "--log-level=warning",
        ])
        .current_dir(layout.root.join("site"))
        .output()
        .with_context(|| format!("{} is missing: run npm ci in site/", program.display()))?;
    if !output.status.success() {
        bail!(
            "esbuild on {}: {}",
            entry.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output.stdout)
}

/// The files of a folder in name order; an absent folder is empty.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
