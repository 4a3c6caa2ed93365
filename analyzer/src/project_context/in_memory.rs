//! Files that a caller lists, with optional texts.

use std::borrow::Cow;
use std::sync::Arc;

use super::FileSource;
use super::by_path::ByPath;

/// Paths, each with its text if provided.
#[derive(Debug, Default)]
pub(crate) struct InMemoryFiles<'t>(ByPath<Option<&'t str>>);

impl<'t> InMemoryFiles<'t> {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: &str, text: Option<&'t str>) {
        self.0.insert(path, text);
    }

    /// Whether a file was added, not only a folder that contains one.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.0.get(path).is_some()
    }

    /// The files below a folder, each with its path relative to the folder.
    fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let mut start = folder.to_owned();
        if !start.is_empty() {
            start.push('/');
        }
        self.0.below(start)
    }
}

impl FileSource for InMemoryFiles<'_> {
    fn names(&self, folder: &str) -> Arc<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for path in self.below(folder) {
            let name = path.split('/').next().unwrap_or(path);
            // Files of one folder are adjacent.
            if names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
        }
        Arc::new(names)
    }

    fn exists(&self, path: &str) -> bool {
        self.0.get(path).is_some() || self.below(path).next().is_some()
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.0.get(path)?.map(Cow::Borrowed)
    }
}
