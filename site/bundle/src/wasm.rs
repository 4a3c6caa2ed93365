//! Rust to browser modules: cargo, then wasm-bindgen, then wasm-opt.

use crate::Layout;
use crate::output::File;
use crate::traps;
use anyhow::{Context, Result, anyhow, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "wasm-release";

/// A crate that becomes `<name>.js` and `<name>_bg.wasm`.
struct Module {
    package: &'static str,
    features: &'static str,
    name: &'static str,
    /// Whether its answers contain formatted floats or `{:?}`.
    formats: bool,
}

const MODULES: [Module; 6] = [
    Module {
        package: "hipward-analyzer-wasm-python",
        features: "",
        name: "analyzer",
        formats: false,
    },
    Module {
        package: "hipward-analyzer-wasm",
        features: "",
        name: "analyzer-all",
        formats: false,
    },
    Module {
        package: "hipward-emulator-wasm",
        features: "",
        name: "emulator",
        formats: true,
    },
    // One module for each island, so that a page loads only the code of its own.
    Module {
        package: "hipward-site",
        features: "island-isa",
        name: "island-isa",
        formats: false,
    },
    Module {
        package: "hipward-site",
        features: "island-job",
        name: "island-job",
        formats: false,
    },
    Module {
        package: "hipward-site",
        features: "island-playground",
        name: "island-playground",
        formats: false,
    },
];

/// Size after compression is what counts. Code inlined into its one caller makes the module smaller and its compressed
/// form larger; so does data without its zeros, cut into thousands of pieces. Flat code is optimized better a second and a third
/// time. The low memory is the end of the stack, which no address in the program begins from.
const PASSES: [&str; 18] = [
    "--low-memory-unused",
    "-Oz",
    "--one-caller-inline-max-function-size=0",
    "--always-inline-max-function-size=1",
    "--flexible-inline-max-function-size=2",
    "--generate-global-effects",
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "-Oz",
    "--skip-pass=memory-packing",
    "--strip-producers",
    "--strip-target-features",
];

/// Features that rustc's wasm32 target may use; wasm-bindgen does not keep the section that lists it.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Builds every module and adds its two files.
pub(crate) fn build(layout: &Layout, files: &mut Vec<File>) -> Result<()> {
    let headers = grammar_headers(layout)?;
    for module in MODULES {
        let compiled = compile(layout, &module, &headers)?;
        let bound = layout.out.join(".work").join(module.name);
        let mut output = Bindgen::new()
            .input_path(&compiled)
            .out_name(module.name)
            .web(true)?
            .typescript(module.name == "analyzer")
            .remove_name_section(true)
            .generate_output()
            .with_context(|| format!("wasm-bindgen on {}", compiled.display()))?;
        traps::silence(output.wasm_mut(), module.formats);
        output.emit(&bound)?;
        let wasm = optimize(layout, &bound.join(format!("{}_bg.wasm", module.name)))?;
        files.push(File::new(format!("{}_bg.wasm", module.name), wasm));
    }
    Ok(())
}

/// The C headers that tree-sitter's grammars need where there is no libc. Their crate carries
/// them; only cargo knows where that crate lies.
fn grammar_headers(layout: &Layout) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(&layout.root)
        .output()?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "tree-sitter-language")
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or_else(|| anyhow!("tree-sitter-language is not among the locked crates"))?;
    Ok(Path::new(manifest).with_file_name("wasm").join("include"))
}

fn compile(layout: &Layout, module: &Module, headers: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--locked",
            "--lib",
            "--target",
            TARGET,
            "--profile",
            PROFILE,
        ])
        .args(["--package", module.package, "--no-default-features"])
        .args(["--features", module.features])
        .env("CARGO_TARGET_DIR", &layout.target)
        .env("CC_wasm32_unknown_unknown", "clang")
        .env("AR_wasm32_unknown_unknown", "llvm-ar")
        .env(
            "CFLAGS_wasm32_unknown_unknown",
            format!(
                "-I{} -include {}",
                headers.display(),
                layout.root.join("site/bundle/tree_sitter.h").display()
            ),
        )
        .env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            remapped_paths(headers)?,
        )
        .current_dir(&layout.root);
    let status = cargo.status().context("cargo is not on PATH")?;
    if !status.success() {
        bail!(
            "{} did not build for {TARGET}; it needs the target (rustup target add {TARGET}) \
             and a clang that knows wasm32 (apt-get install clang llvm lld)",
            module.package
        );
    }
    let file = format!("{}.wasm", module.package.replace('-', "_"));
    Ok(layout.target.join(TARGET).join(PROFILE).join(file))
}

/// Keeps the paths of this machine's cargo and rustc out of what the browser loads.
fn remapped_paths(headers: &Path) -> Result<String> {
    // The registry that holds the crate that holds the headers.
    let registry = headers.ancestors().nth(3).unwrap_or(headers);
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = String::from_utf8(output.stdout)?;
    Ok(format!(
        "--remap-path-prefix={}=crates --remap-path-prefix={}=rust",
        registry.display(),
        Path::new(sysroot.trim())
            .join("lib/rustlib/src/rust")
            .display(),
    ))
}

fn optimize(layout: &Layout, input: &Path) -> Result<Vec<u8>> {
    // The result depends on the passes too.
    let mut source = std::fs::read(input)?;
    source.extend_from_slice(PASSES.concat().as_bytes());
    let program = layout.root.join("site/node_modules/.bin/wasm-opt");
    layout.memo("wasm-opt", &source, |output| {
        let status = Command::new(&program)
            .args(PASSES)
            .args(FEATURES)
            .arg(input)
            .arg("-o")
            .arg(output)
            .status()
            .with_context(|| format!("{} is missing: run npm ci in site/", program.display()))?;
        if !status.success() {
            bail!("wasm-opt failed on {}", input.display());
        }
        Ok(())
    })
}
