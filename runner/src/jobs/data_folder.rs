//! Permissions of the data folder. It contains the code and results of all users, and a job's page is protected by its id
//! alone, so only the server's user may list and read it.

use nix::{
    sys::stat::{Mode, umask},
    unistd::geteuid,
};
use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

/// Creates the folder, or removes other users' permissions from an existing one. Sets the umask, so that files which this process creates later are private too.
pub(crate) fn prepare_data_folder(data: &Path) -> io::Result<()> {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    // A folder such as /tmp is shared.
    if fs::metadata(data)?.permissions().mode() & STICKY == 0 {
        set_mode(data, folder_mode())?;
    }
    for entry in fs::read_dir(data)?.flatten() {
        let name = entry.file_name();
        let is_ours = name == "lock" || name.to_string_lossy().starts_with("jobs.sqlite");
        if is_ours && entry.file_type()?.is_file() {
            set_mode(&entry.path(), 0o600)?;
        }
    }
    Ok(())
}

/// The mode bit of folders in which every user may create files.
const STICKY: u32 = 0o1000;

/// The mode of the data folder. Without root, jobs run as the server's user. With root they run as users of their own, who must pass to their
/// private directories but not list names.
pub(super) fn folder_mode() -> u32 {
    if geteuid().is_root() { 0o711 } else { 0o700 }
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}
