//! The data folder holds the code and results of all users, and a job's id is what protects its page. So its files are for
//! the server's user alone.

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

/// Makes the folder, or closes the one that is there, and sees that what this process makes from now on is closed too.
pub(crate) fn prepare_data_folder(data: &Path) -> io::Result<()> {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    // One such as /tmp is not for us alone.
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

/// Every user may create files in it.
const STICKY: u32 = 0o1000;

/// Jobs of a server without root have its user. Those of root have users of their own, who must come through to their
/// private folders but see no names.
pub(super) fn folder_mode() -> u32 {
    if geteuid().is_root() { 0o711 } else { 0o700 }
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}
