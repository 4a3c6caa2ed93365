//! A sorted list by path. Small, because the browser loads it: no tree, and no sort.

/// Paths, each with a value.
#[derive(Debug)]
pub(super) struct ByPath<T>(Vec<(String, T)>);

impl<T> Default for ByPath<T> {
    fn default() -> Self {
        ByPath(Vec::new())
    }
}

impl<T> ByPath<T> {
    /// The value of a path.
    pub(super) fn get(&self, path: &str) -> Option<&T> {
        let (known, what) = self.0.get(self.at(path))?;
        (known == path).then_some(what)
    }

    /// Adds a path. Fast if paths are added in order, or nearly so.
    pub(super) fn insert(&mut self, path: &str, what: T) {
        let at = self.at(path);
        self.0.insert(at, (path.to_owned(), what));
    }

    /// The paths that begin with `start`, without this prefix.
    pub(super) fn below(&self, start: String) -> impl Iterator<Item = &str> {
        self.0[self.at(&start)..]
            .iter()
            .map_while(move |(path, _)| path.strip_prefix(start.as_str()))
    }

    fn at(&self, path: &str) -> usize {
        self.0.partition_point(|(known, _)| known.as_str() < path)
    }
}
