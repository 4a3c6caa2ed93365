//! What the folders around a file say, kept by folder: many files share them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers to one question about folders. `T` is cheap to clone.
#[derive(Debug, Default)]
pub(super) struct ByFolder<T>(Mutex<HashMap<PathBuf, T>>);

impl<T: Clone> ByFolder<T> {
    /// What is known of a folder, or else what `find` says, which may ask about the folder above.
    pub(super) fn answer(&self, folder: &Path, find: impl FnOnce() -> T) -> T {
        if let Some(known) = self.folders().get(folder) {
            return known.clone();
        }
        let found = find();
        self.folders().insert(folder.to_owned(), found.clone());
        found
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<PathBuf, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
