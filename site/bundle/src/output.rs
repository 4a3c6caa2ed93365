//! Hashed names, brotli and gzip twins, the manifest, and a small memory of finished steps.

use crate::Layout;
use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

/// A file for the browser, under its logical name.
pub(crate) struct File {
    name: String,
    bytes: Vec<u8>,
}

impl File {
    pub(crate) fn new(name: String, bytes: Vec<u8>) -> Self {
        File { name, bytes }
    }
}

impl Layout {
    /// The output of a slow step, remembered by what went in.
    pub(crate) fn memo(
        &self,
        step: &str,
        input: &[u8],
        run: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let folder = self.out.join(".work/memo");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{step}-{}", digest(input)));
        if !path.is_file() {
            let partial = path.with_extension("partial");
            run(&partial)?;
            fs::rename(&partial, &path)?;
        }
        fs::read(&path).with_context(|| path.display().to_string())
    }
}

/// Writes every file three times (plain, brotli and gzip) and the manifest, removes what is left of an
/// earlier build, and prints the sizes.
pub(crate) fn write(layout: &Layout, files: Vec<File>) -> Result<()> {
    let mut manifest = BTreeMap::new();
    let mut changed = false;
    let mut kept = BTreeSet::from(["manifest.json".to_owned()]);
    println!(
        "{:<28} {:>10} {:>10} {:>10}",
        "asset", "bytes", "brotli", "gzip"
    );
    for file in files {
        let hashed = hashed_name(&file);
        let brotli = layout.memo("brotli", &file.bytes, |path| {
            let mut writer =
                brotli::CompressorWriter::new(fs::File::create(path)?, 1 << 16, 11, 24);
            writer.write_all(&file.bytes)?;
            Ok(writer.flush()?)
        })?;
        // Browsers accept brotli over HTTPS and on loopback only; elsewhere they ask for gzip.
        let gzip = layout.memo("gzip", &file.bytes, |path| {
            let mut writer = GzEncoder::new(fs::File::create(path)?, Compression::best());
            writer.write_all(&file.bytes)?;
            writer.finish()?;
            Ok(())
        })?;
        println!(
            "{:<28} {:>10} {:>10} {:>10}",
            file.name,
            file.bytes.len(),
            brotli.len(),
            gzip.len()
        );
        let twins = [format!("{hashed}.br"), format!("{hashed}.gz")];
        changed |= update(&layout.out.join(&hashed), &file.bytes)?;
        for (twin, bytes) in twins.iter().zip([&brotli, &gzip]) {
            changed |= update(&layout.out.join(twin), bytes)?;
        }
        kept.insert(hashed.clone());
        kept.extend(twins);
        manifest.insert(file.name, hashed);
    }
    let manifest = serde_json::to_string_pretty(&manifest)?;
    let path = layout.out.join("manifest.json");
    // The binary watches the manifest alone, so its age must be that of the newest file.
    if changed {
        let _ = fs::remove_file(&path);
    }
    update(&path, manifest.as_bytes())?;
    for entry in fs::read_dir(&layout.out)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !kept.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Leaves a file alone that is as it should be: the binary that carries it need not be built again.
/// Returns whether it was written.
fn update(path: &Path, bytes: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    fs::write(path, bytes).with_context(|| path.display().to_string())?;
    Ok(true)
}

/// `site.css` → `site-1f3a9c20b7e4.css`, so that a name may be cached for ever.
fn hashed_name(file: &File) -> String {
    let hash = digest(&file.bytes);
    match file.name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}-{hash}.{extension}"),
        None => format!("{}-{hash}", file.name),
    }
}

/// The first 12 hexadecimal digits of the SHA-256.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
