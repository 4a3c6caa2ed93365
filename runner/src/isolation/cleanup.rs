//! Removes the files that a worker leaves on the host.

use super::sandbox_spec::SandboxSpec;
use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AT_FDCWD, OFlag, openat, renameat},
    sys::stat::{Mode, mkdirat},
    unistd::{UnlinkatFlags, unlinkat},
};
use std::{
    ffi::{CString, OsStr, OsString},
    fs::{self, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::PermissionsExt},
    },
    path::Path,
};

/// Removes the private directory. Call it when no process of the worker is left.
pub(super) fn remove(spec: &SandboxSpec) {
    // The next start of the server removes what cannot be removed now.
    let _ = remove_folder(&spec.directory);
}

/// Removes a folder that a snippet has written to.
///
/// The snippet may have removed permissions from folders, which locks out a server without root, and may have nested
/// them deeper than a path or a recursion allows. So each folder gets its permissions back, and its subfolders are
/// moved to the top. A process of the snippet may still run and replace a folder by a link, so all operations use
/// descriptors and follow no link.
pub(crate) fn remove_folder(top: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (top.parent(), top.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let parent = openat(
        AT_FDCWD,
        parent,
        OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    // The server and a supervisor may remove the same folder at the same time.
    let mut rest_name = name.to_owned();
    rest_name.push(format!(".rest-{}", std::process::id()));
    let mut rest = None;
    let mut moved = 0_u64;
    // The number of each moved folder; none for the top folder.
    let mut folders = vec![None];
    while let Some(number) = folders.pop() {
        let mut folder = match (number, &rest) {
            (Some(number), Some(rest)) => match open_restored(rest, &numbered(number)) {
                Ok(folder) => folder,
                Err(_) => continue,
            },
            _ => open_restored(&parent, name)?,
        };
        let entries: Vec<CString> = folder
            .iter()
            .filter_map(|entry| Some(entry.ok()?.file_name().to_owned()))
            .filter(|name| name.as_c_str() != c"." && name.as_c_str() != c"..")
            .collect();
        for entry in entries {
            let entry = OsStr::from_bytes(entry.as_bytes());
            let removed = unlinkat(&folder, entry, UnlinkatFlags::NoRemoveDir);
            if !matches!(removed, Err(Errno::EISDIR | Errno::EPERM)) {
                continue;
            }
            let rest = match &rest {
                Some(rest) => rest,
                None => rest.insert(make_folder(&parent, &rest_name)?),
            };
            moved += 1;
            // A folder without write permission cannot be moved.
            let is_moved = open_restored(&folder, entry)
                .and_then(|_| renameat(&folder, entry, rest, &*numbered(moved)));
            if is_moved.is_ok() {
                folders.push(Some(moved));
            }
        }
        if let (Some(number), Some(rest)) = (number, &rest) {
            let _ = unlinkat(rest, &*numbered(number), UnlinkatFlags::RemoveDir);
        }
    }
    if rest.is_some() {
        unlinkat(&parent, &*rest_name, UnlinkatFlags::RemoveDir)?;
    }
    Ok(unlinkat(&parent, name, UnlinkatFlags::RemoveDir)?)
}

fn numbered(number: u64) -> OsString {
    number.to_string().into()
}

fn make_folder(parent: &OwnedFd, name: &OsStr) -> nix::Result<OwnedFd> {
    match mkdirat(parent, name, Mode::S_IRWXU) {
        // Left by a killed process that had the same id.
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Opens a folder after restoring its owner's permissions.
fn open_restored(parent: impl AsFd, name: &OsStr) -> nix::Result<Dir> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(parent, name, flags | OFlag::O_PATH, Mode::empty())?;
    let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
    // Fails for another user's folder, which then cannot be opened.
    let _ = fs::set_permissions(itself, Permissions::from_mode(0o700));
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Dir::from_fd(openat(&found, ".", flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_folder_with_unreadable_parts_is_removed() {
        let data = tempfile::tempdir().expect("a folder");
        let kept = data.path().join("kept");
        fs::write(&kept, "x").expect("a file");
        // Built from the inside out, because a path of that depth is too long.
        let (inner, outer) = (data.path().join("inner"), data.path().join("outer"));
        fs::create_dir(&inner).expect("a folder");
        for depth in 0..2_500 {
            fs::create_dir(&outer).expect("a folder");
            fs::write(outer.join("file"), "x").expect("a file");
            std::os::unix::fs::symlink(data.path(), outer.join("link")).expect("a link");
            fs::rename(&inner, outer.join("d")).expect("is moved");
            if depth == 1_200 {
                fs::set_permissions(outer.join("d"), Permissions::from_mode(0o000))
                    .expect("is closed");
            }
            fs::rename(&outer, &inner).expect("is moved");
        }
        remove_folder(&inner).expect("is removed");
        let left: Vec<_> = fs::read_dir(data.path())
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert_eq!(left, [kept]);
    }

    #[test]
    fn unreadable_folder_is_removed() {
        let data = tempfile::tempdir().expect("a folder");
        let top = data.path().join("top");
        fs::create_dir_all(top.join("in/ner")).expect("folders");
        for folder in ["in/ner", "in", ""] {
            fs::set_permissions(top.join(folder), Permissions::from_mode(0o000))
                .expect("is closed");
        }
        remove_folder(&top).expect("is removed");
        assert_eq!(fs::read_dir(data.path()).expect("a folder").count(), 0);
        let error = remove_folder(&top).expect_err("is removed");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn links_that_replace_folders_are_not_followed() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        let outside = tempfile::tempdir().expect("a folder");
        let kept = outside.path().join("kept");
        for _ in 0..40 {
            let data = tempfile::tempdir().expect("a folder");
            let top = data.path().join("top");
            fs::create_dir(&top).expect("a folder");
            fs::write(&kept, "x").expect("a file");
            fs::set_permissions(outside.path(), Permissions::from_mode(0o755)).expect("ours");
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                // As a running process of the job could do.
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        for name in ["a", "b", "c"].map(|name| top.join(name)) {
                            let _ = fs::create_dir(&name);
                            let _ = fs::rename(&name, top.join("old"));
                            let _ = std::os::unix::fs::symlink(outside.path(), &name);
                            let _ = fs::remove_file(&name);
                        }
                    }
                });
                for _ in 0..20 {
                    // May fail: the other thread adds to it.
                    let _ = remove_folder(&top);
                    let _ = fs::create_dir(&top);
                }
                is_over.store(true, Relaxed);
            });
            assert!(kept.exists(), "a link was followed");
            let mode = fs::metadata(outside.path())
                .expect("is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o755, "a link was followed");
        }
    }
}
