//! What a worker leaves on the host besides processes: files in its private directory, and for
//! GPU workers in shared memory, where a user of its own makes them recognisable.

use super::plan::Plan;
use std::{
    fs::{self, DirEntry, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

/// More files than any benchmark makes; past it a folder counts as full.
const MOST_FILES: usize = 200_000;
const SHARED_MEMORY: &str = "/dev/shm";

/// Whether the plan's process has written more than it may.
pub(super) fn is_over_limit(plan: &Plan) -> bool {
    let mut bytes: u64 = shared_memory(plan).map(|(_, bytes)| bytes).sum();
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
/// the top.
pub(crate) fn remove_folder(top: &Path) -> io::Result<()> {
    // The server and a supervisor may be at it at the same time.
    let rest = top.with_extension(format!("rest-{}", std::process::id()));
    let mut folders = vec![top.to_owned()];
    let mut moved = 0_u64;
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder) {
            let path = entry.path();
            // Of the entry itself: links are not followed.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = fs::remove_file(path);
                continue;
            }
            if moved == 0 {
                fs::create_dir_all(&rest)?;
            }
            moved += 1;
            let place = rest.join(moved.to_string());
            let _ = fs::set_permissions(&path, Permissions::from_mode(0o700));
            if fs::rename(&path, &place).is_ok() {
                folders.push(place);
            }
        }
        if folder != top {
            let _ = fs::remove_dir(&folder);
        }
    }
    if moved > 0 {
        fs::remove_dir(&rest)?;
    }
    fs::remove_dir(top)
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
}
