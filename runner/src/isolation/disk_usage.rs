//! How much a worker has written: to its private directory and, for GPU workers, to shared memory, where a user of its
//! own identifies its files.

use super::sandbox_spec::SandboxSpec;
use std::{
    fs::{self, DirEntry},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::Path,
};

/// More files than any benchmark creates. A folder with more is over the limit.
const MAX_FILES: usize = 200_000;
const SHARED_MEMORY: &str = "/dev/shm";

/// Whether the worker is over its disk limit. `unnamed` is the size of files without a name, bytes.
pub(super) fn is_over_limit(spec: &SandboxSpec, unnamed: u64) -> bool {
    let named: u64 = shared_memory(spec).map(|(_, bytes)| bytes).sum();
    let mut bytes = named + unnamed;
    if bytes > spec.limits.disk_bytes {
        return true;
    }
    let mut files = 0;
    let mut folders = vec![spec.directory.clone()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries.flatten(),
            // Removed or replaced since it was listed.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                continue;
            }
            // A folder that cannot be read, or whose path is too long, counts as over the limit.
            Err(_) => return true,
        };
        for entry in entries {
            // Does not follow links.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            files += 1;
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            if bytes > spec.limits.disk_bytes || files > MAX_FILES {
                return true;
            }
        }
    }
    false
}

/// Files in shared memory that belong to the worker's own user, with their sizes in bytes.
pub(super) fn shared_memory(spec: &SandboxSpec) -> impl Iterator<Item = (DirEntry, u64)> {
    let identity = spec.identity.as_ref().filter(|_| spec.gpu);
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
