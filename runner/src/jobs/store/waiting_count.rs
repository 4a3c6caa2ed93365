//! The number of waiting jobs of a long queue, which is not counted for each submission: counting 50,000 jobs takes longer than the
//! rest of it.

use super::{
    error::Result,
    lock,
    sql::{Sql, values},
};
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
    at: Instant,
    jobs: usize,
}

impl Count {
    /// Whether the queue cannot have become full since, or the count is new.
    fn is_valid(self, limit: usize) -> bool {
        let free = u32::try_from(limit.saturating_sub(self.jobs)).unwrap_or(u32::MAX);
        let until_full = Duration::from_secs((free / ADDED_PER_SECOND).into()).min(MAX_VALID);
        self.at.elapsed() < until_full.max(VALID)
    }
}

impl WaitingCount {
    /// The number of jobs with this state before another one is added, to compare with a limit. Differs from the real number by the
    /// jobs that other servers have added since the last count, and by those that have left the queue.
    pub(super) fn about(&self, tx: &dyn Sql, state: &str, limit: usize) -> Result<usize> {
        let known = lock(&self.0)
            .get(state)
            .copied()
            .filter(|count| count.is_valid(limit));
        let count = match known {
            Some(count) => count,
            None => Count {
                jobs: tx.one("select count(*) from jobs where state = ?1", values![state])?,
                at: Instant::now(),
            },
        };
        let next = Count {
            jobs: count.jobs + 1,
            ..count
        };
        lock(&self.0).insert(state.to_owned(), next);
        Ok(count.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_used_longer_while_the_queue_is_far_from_full() {
        let is_valid = |seconds, jobs, limit| {
            let at = Instant::now() - Duration::from_secs(seconds);
            Count { at, jobs }.is_valid(limit)
        };
        assert!(is_valid(0, 100_000, 100_000));
        assert!(!is_valid(1, 100_000, 100_000));
        assert!(!is_valid(2, 90_000, 100_000));
        assert!(is_valid(2, 50_000, 100_000));
        assert!(!is_valid(6, 50_000, 100_000));
        assert!(is_valid(59, 0, usize::MAX));
        assert!(!is_valid(61, 0, usize::MAX));
    }
}
