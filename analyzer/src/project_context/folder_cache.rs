//! A cache of results by folder: many files share a folder, and all share its parents.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::by_path::ByPath;

/// `T` is cheap to clone.
#[derive(Debug)]
pub(super) struct FolderCache<T>(Mutex<ByPath<Arc<OnceLock<T>>>>);

impl<T> Default for FolderCache<T> {
    fn default() -> Self {
        FolderCache(Mutex::default())
    }
}

impl<T: Clone> FolderCache<T> {
    /// The cached result for a folder, or the result of `find`, which may query the parent folder. Threads that need the
    /// result of the same folder wait for one of them: they check files of one folder at the same time.
    pub(super) fn answer(&self, folder: &str, find: impl FnOnce() -> T) -> T {
        self.of(folder).get_or_init(find).clone()
    }

    fn of(&self, folder: &str) -> Arc<OnceLock<T>> {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get(folder) {
            return Arc::clone(known);
        }
        let new = Arc::default();
        folders.insert(folder, Arc::clone(&new));
        new
    }
}
