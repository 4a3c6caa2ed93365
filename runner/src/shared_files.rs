//! Folders and files in the data folder that workers with users of their own may read.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

/// Creates a folder that all users can read, unless it is there.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::set_permissions(folder, Permissions::from_mode(0o755)),
    }
}

/// Copies a file, with this mode.
pub(crate) fn copy(file: &Path, copy: &Path, mode: u32) -> io::Result<()> {
    let copied =
        fs::copy(file, copy).and_then(|_| fs::set_permissions(copy, Permissions::from_mode(mode)));
    if copied.is_err() {
        // Half a copy would occupy the disk that is full.
        let _ = fs::remove_file(copy);
    }
    copied
}
