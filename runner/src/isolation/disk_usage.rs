//! How much a worker has written.

use super::{sandbox_spec::SandboxSpec, supervisor_protocol::Limit};
use std::{fs, io::ErrorKind, os::unix::fs::MetadataExt};

/// More files than any benchmark creates. A folder with more is over the limit.
pub(crate) const MAX_FILES: usize = 200_000;

/// The limit that the worker's files exceed, if any. `elsewhere` is the size of its files outside of the private directory, bytes.
pub(super) fn exceeded(spec: &SandboxSpec, elsewhere: u64) -> Option<Limit> {
    let mut bytes = elsewhere;
    if bytes > spec.limits.disk_bytes {
        return Some(Limit::Disk);
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
            // Its permissions were removed, or its path is too long.
            Err(_) => return Some(Limit::UnreadableFolder),
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
            if bytes > spec.limits.disk_bytes {
                return Some(Limit::Disk);
            }
            if files > MAX_FILES {
                return Some(Limit::Files);
            }
        }
    }
    None
}
