//! A temporary data folder.

use std::{fs::Permissions, io, os::unix::fs::PermissionsExt};

use tempfile::TempDir;

/// Creates a folder that only this user can enter, and that is removed on drop.
///
/// Its name is random: a process that was killed leaves its folder, and its process id is used again.
pub(crate) fn temporary_folder() -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("hipward-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
}
