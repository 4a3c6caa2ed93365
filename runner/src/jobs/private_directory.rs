//! The private directory of a worker, the only place it may write to. Created before the worker starts and removed after it has

use super::data_folder::{folder_mode, set_mode};
use crate::isolation::{Identity, remove_folder};
use nix::unistd::{Gid, Uid, chown};
use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// A folder that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Creates a directory below the data folder, owned by the worker's user.
    pub(crate) fn new(data: &Path, identity: Option<&Identity>) -> io::Result<Self> {
        let name = super::random_id::random_id().map_err(io::Error::other)?;
        let parent = parent(data);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&parent)?;
        set_mode(&parent, folder_mode())?;
        let directory = PrivateDirectory(parent.join(name));
        for folder in ["", "tmp", "cache"] {
            let path = directory.0.join(folder);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)?;
            if let Some(identity) = identity {
                let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.uid));
                chown(&path, Some(uid), Some(gid))?;
            }
        }
        Ok(directory)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directories that a killed server has left. Its workers died with it.
    pub(crate) fn remove_leftovers(data: &Path) {
        remove(&parent(data));
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn parent(data: &Path) -> PathBuf {
    data.join("workers")
}

fn remove(path: &Path) {
    match remove_folder(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("cannot remove {}: {error}", path.display());
        }
        _ => {}
    }
}
