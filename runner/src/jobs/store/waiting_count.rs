//! The number of waiting jobs of a long queue, which is counted once a second instead of for each submission.

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

/// Time for which a count is used.
const VALID: Duration = Duration::from_secs(1);

/// The last counts by state.
#[derive(Debug, Default)]
pub(super) struct WaitingCount(Mutex<HashMap<String, Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    at: Instant,
    jobs: usize,
}

impl WaitingCount {
    /// The number of jobs with this state before another one is added. Differs from the real number by the jobs that other servers
    /// have added within a second, and by those that have left the queue.
    pub(super) fn about(&self, tx: &dyn Sql, state: &str) -> Result<usize> {
        let known = lock(&self.0)
            .get(state)
            .copied()
            .filter(|count| count.at.elapsed() < VALID);
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
