//! What a worker leaves on the host besides processes: files in its private directory, and for
//! GPU workers in shared memory, where a user of its own makes them recognisable.

use super::plan::Plan;
use std::{
    fs::{self, DirEntry},
    os::unix::fs::MetadataExt,
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
        for entry in entries(&folder) {
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

/// Removes what the private directory's own removal will not.
pub(super) fn remove(plan: &Plan) {
    for (entry, _) in shared_memory(plan) {
        // Whatever cannot be removed is as it was before.
        let _ = fs::remove_file(entry.path());
    }
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
