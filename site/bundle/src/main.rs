//! Builds everything the browser loads, into one folder with a manifest.
//!
//! ```text
//! Rust  → cargo (wasm32) → wasm-bindgen → wasm-opt ┐
//! site/js  → esbuild                               ├→ hashed names, compressed twins, manifest.json
//! site/css → concatenated → esbuild                │
//! site/static → as they are                        ┘
//! ```
//!
//! The pages are not made here: they come from `hipward serve` and `hipward build`.

mod output;
mod scripts;
mod traps;
mod wasm;

use anyhow::{Context, Result};
use std::path::{PathBuf, absolute};

/// Absolute paths of inputs and outputs.
struct Layout {
    /// The checkout.
    root: PathBuf,
    /// Cargo's target folder.
    target: PathBuf,
    /// The folder this program fills.
    out: PathBuf,
}

fn main() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let out = std::env::args_os()
        .nth(1)
        .map_or_else(|| root.join("target/assets"), PathBuf::from);
    let layout = Layout {
        root,
        target: absolute(target)?,
        out: absolute(out)?,
    };

    let mut files = Vec::new();
    wasm::build(&layout, &mut files).context("building the wasm modules")?;
    scripts::build(&layout, &mut files).context("building scripts and styles")?;
    output::write(&layout, files).context("writing the assets")
}
