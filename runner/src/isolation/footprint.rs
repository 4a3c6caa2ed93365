//! What a worker leaves on the host besides processes: files in its private directory, and for
//! GPU workers in shared memory, where a user of its own makes them recognisable.

use super::plan::Plan;
use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AT_FDCWD, OFlag, openat, renameat},
    sys::stat::{Mode, mkdirat},
    unistd::{UnlinkatFlags, unlinkat},
};
use std::{
    ffi::{CString, OsStr, OsString},
    fs::{self, DirEntry, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, PermissionsExt},
        },
    },
    path::Path,
};

/// More files than any benchmark makes; past it a folder counts as full.
const MOST_FILES: usize = 200_000;
const SHARED_MEMORY: &str = "/dev/shm";

/// Whether the plan's process has written more than it may. `nameless` are bytes of files without a name.
pub(super) fn is_over_limit(plan: &Plan, nameless: u64) -> bool {
    let named: u64 = shared_memory(plan).map(|(_, bytes)| bytes).sum();
    let mut bytes = named + nameless;
    if bytes > plan.limits.disk_bytes {
        return true;
    }
    let mut files = 0;
    let mut folders = vec![plan.directory.clone()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries.flatten(),
            // It was replaced meanwhile.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                continue;
            }
            // What is closed, or deeper than a path is long, counts as full: it may be.
            Err(_) => return true,
        };
        for entry in entries {
            // Of the entry itself: links are not followed.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            files += 1;
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            if bytes > plan.limits.disk_bytes || files > MOST_FILES {
                return true;
            }
        }
    }
    false
}

/// Removes it, once no process is left that could add to it.
pub(super) fn remove(plan: &Plan) {
    // Whatever cannot be removed is removed with the server's next start.
    let _ = remove_folder(&plan.directory);
    for (entry, _) in shared_memory(plan) {
        // Whatever cannot be removed is as it was before.
        let _ = fs::remove_file(entry.path());
    }
}

/// Removes a folder that a snippet has made. It may have closed folders in there, which without root closes them to us,
/// and nested them deeper than a path is long or a recursion goes. So each is opened, and the folders in it are moved to
/// the top. And a process of it may still run and put a link where a folder was: so all is done by descriptor, and no
/// path is followed.
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
    // The server and a supervisor may be at it at the same time.
    let mut rest_name = name.to_owned();
    rest_name.push(format!(".rest-{}", std::process::id()));
    let mut rest = None;
    let mut moved = 0_u64;
    // By its number in there; none for the top itself.
    let mut folders = vec![None];
    while let Some(number) = folders.pop() {
        let mut folder = match (number, &rest) {
            (Some(number), Some(rest)) => match open_closed(rest, &numbered(number)) {
                Ok(folder) => folder,
                Err(_) => continue,
            },
            _ => open_closed(&parent, name)?,
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
            // Opened, because a closed one cannot be moved.
            let is_moved = open_closed(&folder, entry)
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
        // Of a process with our number, which was killed at it.
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Opens a folder that may be closed to its owner.
fn open_closed(parent: impl AsFd, name: &OsStr) -> nix::Result<Dir> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(parent, name, flags | OFlag::O_PATH, Mode::empty())?;
    let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
    // Another user's stays as it is, and cannot be opened then.
    let _ = fs::set_permissions(itself, Permissions::from_mode(0o700));
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Dir::from_fd(openat(&found, ".", flags, Mode::empty())?)
}

/// Files in shared memory that only this worker's user can have made, and their sizes.
fn shared_memory(plan: &Plan) -> impl Iterator<Item = (DirEntry, u64)> {
    let identity = plan.identity.as_ref().filter(|_| plan.gpu);
    identity.into_iter().flat_map(|identity| {
        entries(Path::new(SHARED_MEMORY)).filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            (metadata.uid() == identity.uid).then_some((entry, metadata.blocks() * 512))
        })
    })
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_however_deep_it_is_and_whatever_is_closed_in_it() {
        let data = tempfile::tempdir().expect("a folder");
        let kept = data.path().join("kept");
        fs::write(&kept, "x").expect("a file");
        // From the inside out, as a path of that depth cannot be named.
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
        let left: Vec<_> = entries(data.path()).map(|entry| entry.path()).collect();
        assert_eq!(left, [kept]);
    }

    #[test]
    fn a_folder_that_is_closed_itself_goes_too() {
        let data = tempfile::tempdir().expect("a folder");
        let top = data.path().join("top");
        fs::create_dir_all(top.join("in/ner")).expect("folders");
        for folder in ["in/ner", "in", ""] {
            fs::set_permissions(top.join(folder), Permissions::from_mode(0o000))
                .expect("is closed");
        }
        remove_folder(&top).expect("is removed");
        assert_eq!(entries(data.path()).count(), 0);
        let error = remove_folder(&top).expect_err("is gone");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn links_that_take_the_place_of_folders_are_not_followed() {
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
                // What a live process of the job could do.
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
                    // It may be in use, and not empty at the end.
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
