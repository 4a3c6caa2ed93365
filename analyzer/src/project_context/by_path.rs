//! A list by path, in order. Small, as it is part of what a browser loads: no tree, and no sort.

/// Paths and what is known of each.
#[derive(Debug)]
pub(super) struct ByPath<T>(Vec<(String, T)>);

impl<T> Default for ByPath<T> {
    fn default() -> Self {
        ByPath(Vec::new())
    }
}

impl<T> ByPath<T> {
    /// What is known of a path.
    pub(super) fn get(&self, path: &str) -> Option<&T> {
        let (known, what) = self.0.get(self.at(path))?;
        (known == path).then_some(what)
    }

    /// Adds a path. Quick where they come in order, or nearly so.
    pub(super) fn insert(&mut self, path: &str, what: T) {
        let at = self.at(path);
        self.0.insert(at, (path.to_owned(), what));
    }

    /// The paths that begin with `start`, without it.
    pub(super) fn below(&self, start: String) -> impl Iterator<Item = &str> {
        self.0[self.at(&start)..]
            .iter()
            .map_while(move |(path, _)| path.strip_prefix(start.as_str()))
    }

    fn at(&self, path: &str) -> usize {
        self.0.partition_point(|(known, _)| known.as_str() < path)
    }
}
