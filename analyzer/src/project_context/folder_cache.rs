//! A cache of results by folder: many files share a folder, and all share its parents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::by_path::ByPath;

/// `T` is cheap to clone.
#[derive(Debug)]
pub(super) struct FolderCache<T>(Mutex<ByPath<T>>);

impl<T> Default for FolderCache<T> {
    fn default() -> Self {
        FolderCache(Mutex::default())
    }
}

impl<T: Clone> FolderCache<T> {
    /// The cached result for a folder, or the result of `find`, which may query the parent folder.
    pub(super) fn answer(&self, folder: &str, find: impl FnOnce() -> T) -> T {
        if let Some(known) = self.folders().get(folder) {
            return known.clone();
        }
        let found = find();
        self.folders().insert(folder, found.clone());
        found
    }

    fn folders(&self) -> MutexGuard<'_, ByPath<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
