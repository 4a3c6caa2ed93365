//! A temporary data folder.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// A private folder that is removed on drop.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(crate) fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("hipward-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TemporaryFolder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If it fails, the folder stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
