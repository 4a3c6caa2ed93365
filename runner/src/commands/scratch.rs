//! A folder for a runner that keeps nothing.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// A folder of our own that is gone afterwards.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("hipward-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Scratch(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind in the temporary folder at worst.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
