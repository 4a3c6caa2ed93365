//! A set of a few numbers, most of which are added in ascending order: the lanes of most accesses are neighbours.

/// Different numbers in ascending order.
pub(super) struct Distinct(Vec<u64>);

impl Distinct {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub(super) fn add(&mut self, value: u64) {
        match self.0.last() {
            Some(last) if *last == value => {}
            Some(last) if *last > value => {
                if let Err(at) = self.0.binary_search(&value) {
                    self.0.insert(at, value);
                }
            }
            _ => self.0.push(value),
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn values(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_different_and_ascending() {
        let mut values = Distinct::with_capacity(4);
        for value in [3, 3, 7, 1, 7, 5, 1, u64::MAX, 0] {
            values.add(value);
        }
        assert_eq!(values.values(), [0, 1, 3, 5, 7, u64::MAX]);
        values.clear();
        assert!(values.values().is_empty());
    }
}
