//! The number of waiting jobs of a long queue, which is not counted for each submission: counting 50,000 jobs takes longer than the
//! rest of it.

use super::{error::Result, lock};
use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Time for which a count is used in any case.
const VALID: Duration = Duration::from_secs(1);
/// The same at most.
const MAX_VALID: Duration = Duration::from_mins(1);
/// More jobs than all other servers together add in a second.
const ADDED_PER_SECOND: u32 = 10_000;

/// The last counts by state.
#[derive(Debug, Default)]
pub(super) struct WaitingCount(Mutex<HashMap<String, Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    /// When the jobs were counted.
    at: Instant,
    /// How many they were.
    counted: usize,
    /// Those that this server has added since.
    added: usize,
}

impl Count {
    fn new(counted: usize) -> Self {
        Count {
            at: Instant::now(),
            counted,
            added: 0,
        }
    }

    fn jobs(self) -> usize {
        self.counted + self.added
    }

    /// Whether the queue cannot have become full since, or the count is new. One that is full by the jobs added since is not
    /// valid, because others may have left the queue.
    fn is_valid(self, limit: usize) -> bool {
        if self.counted < limit && self.jobs() >= limit {
            return false;
        }
        let free = u32::try_from(limit.saturating_sub(self.jobs())).unwrap_or(u32::MAX);
        let until_full = Duration::from_secs((free / ADDED_PER_SECOND).into()).min(MAX_VALID);
        self.at.elapsed() < until_full.max(VALID)
    }
}

impl WaitingCount {
    /// The number of jobs with this state before another one is added, to compare with a limit. `count` counts them. Differs from
    /// the real number by the jobs that other servers have added since the last count, and by those that have left the queue.
    pub(super) fn about(
        &self,
        state: &str,
        limit: usize,
        count: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        let known = lock(&self.0).get(state).copied();
        let mut current = match known.filter(|known| known.is_valid(limit)) {
            Some(known) => known,
            None => Count::new(count()?),
        };
        let before = current.jobs();
        if before < limit {
            current.added += 1;
        }
        lock(&self.0).insert(state.to_owned(), current);
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_used_longer_while_the_queue_is_far_from_full() {
        let is_valid = |seconds, jobs, limit| {
            let mut count = Count::new(jobs);
            count.at -= Duration::from_secs(seconds);
            count.is_valid(limit)
        };
        assert!(is_valid(0, 100_000, 100_000));
        assert!(!is_valid(1, 100_000, 100_000));
        assert!(!is_valid(2, 90_000, 100_000));
        assert!(is_valid(2, 50_000, 100_000));
        assert!(!is_valid(6, 50_000, 100_000));
        assert!(is_valid(59, 0, usize::MAX));
        assert!(!is_valid(61, 0, usize::MAX));
    }

    #[test]
    fn jobs_are_counted_again_before_one_is_refused() {
        let waiting = WaitingCount::default();
        let about = |counted| waiting.about("queued", 3, || Ok(counted)).ok();
        assert_eq!([about(1), about(9), about(9)], [Some(1), Some(2), Some(9)]);
        // It was full when it was counted, and is not counted for each submission.
        assert_eq!(about(0), Some(9));
        let waiting = WaitingCount::default();
        let about = |counted| waiting.about("queued", 3, || Ok(counted)).ok();
        // Those that were added have left the queue.
        assert_eq!([about(1), about(0), about(1)], [Some(1), Some(2), Some(1)]);
    }
}
