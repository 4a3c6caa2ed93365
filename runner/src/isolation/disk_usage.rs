//! How much a worker has written.

use super::sandbox_spec::SandboxSpec;
use std::{fs, io::ErrorKind, os::unix::fs::MetadataExt};

/// More files than any benchmark creates. A folder with more is over the limit.
const MAX_FILES: usize = 200_000;

/// Whether the worker is over its disk limit. `elsewhere` is the size of its files outside of the private directory, bytes.
pub(super) fn is_over_limit(spec: &SandboxSpec, elsewhere: u64) -> bool {
    let mut bytes = elsewhere;
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
