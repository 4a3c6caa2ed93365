//! The measuring package, carried inside this binary and written out where Python can import it.

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../kernels/hipward_kernels"]
#[exclude = "*cache*"]
struct Package;

/// The package could not be written out.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the Python package to {}: {source}; choose a writable folder with --data", path.display())]
pub(crate) struct PackageError {
    path: PathBuf,
    source: io::Error,
}

/// Writes the package below `data`, unless this very version is there, and returns the folder that
/// holds `hipward_kernels/`.
pub(crate) fn unpack(data: &Path) -> Result<PathBuf, PackageError> {
    let files: Vec<_> = Package::iter()
        .filter_map(|path| Some((Package::get(&path)?.data, path)))
        .collect();
    let mut digest = Sha256::new();
    for (bytes, path) in &files {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    }
    let version = crate::hex(&digest.finalize()[..8]);
    let folder = data.join("python").join(version);
    let failed = |source| PackageError {
        path: folder.clone(),
        source,
    };
    if folder.is_dir() {
        return Ok(folder);
    }
    // Written beside its place and moved there, so that a half-written package is never imported.
    let draft = data.join("python/.draft");
    let _ = fs::remove_dir_all(&draft);
    for (bytes, path) in &files {
        let file = draft.join("hipward_kernels").join(path.as_ref());
        let parent = file.parent().unwrap_or(&draft);
        fs::create_dir_all(parent).map_err(failed)?;
        fs::write(&file, bytes).map_err(failed)?;
    }
    fs::rename(&draft, &folder).map_err(failed)?;
    Ok(folder)
}
