//! Names the folder of browser assets that is embedded, and creates it while it is missing, so
//! that the binary compiles before the bundle was ever built. Has the binary built again when what
//! it carries has changed.

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-env-changed=HIPWARD_ASSETS");
    println!("cargo:rerun-if-changed=build.rs");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let assets =
        env::var_os("HIPWARD_ASSETS").map_or_else(|| here.join("../target/assets"), PathBuf::from);
    if let Err(error) = fs::create_dir_all(&assets) {
        println!("cargo:warning=cannot create {}: {error}", assets.display());
    }
    println!("cargo:rustc-env=HIPWARD_ASSETS={}", assets.display());
    // Asset names are hashes of what is in the files, so the manifest changes whenever one does.
    for watched in [
        assets.join("manifest.json"),
        here.join("../content"),
        here.join("../kernels/hipward_kernels"),
    ] {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
}
