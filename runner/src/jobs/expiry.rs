//! Ends leases that were not renewed: the host that ran the job has crashed, or cannot reach the database.

use super::store::{LeaseStates, Store, StoreError};
use crate::shutdown::Shutdown;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Interval of the check.
const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum difference between the times that pass on the database's clock and on this server's until the next check.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// Requeues or fails jobs whose lease has expired, until the server stops. After the start of this server, after the database
/// could not be reached, and after the database's clock was set, hosts first get time to renew their leases.
pub(crate) async fn expire_leases(store: Store, mut shutdown: Shutdown) {
    let mut previous: Option<Reading> = None;
    let mut steady_since = Instant::now();
    loop {
        match check(&store, previous, steady_since).await {
            Ok(Checked { reading, is_steady }) => {
                if !is_steady {
                    steady_since = Instant::now();
                }
                previous = Some(reading);
            }
            Err(error) => {
                if previous.take().is_some() {
                    tracing::error!("cannot check the leases of jobs: {error}");
                }
            }
        }
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = shutdown.requested() => return,
        }
    }
}

/// A reading of the database's clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Seconds since 1970.
    database: f64,
    /// When it was requested.
    from: Instant,
    /// When it arrived.
    to: Instant,
}

impl Reading {
    /// By how many seconds the database's clock was set between two readings. 0 if the difference may be the time of the requests.
    fn jump_since(self, previous: Reading) -> f64 {
        let passed = self.database - previous.database;
        let least = (self.from - previous.to).as_secs_f64() - CLOCK_TOLERANCE.as_secs_f64();
        let most = (self.to - previous.from).as_secs_f64() + CLOCK_TOLERANCE.as_secs_f64();
        passed - passed.clamp(least, most)
    }
}

/// The result of a check.
struct Checked {
    reading: Reading,
    /// Whether the database could be reached in the previous check too, and its clock was not set since.
    is_steady: bool,
}

async fn check(
    store: &Store,
    previous: Option<Reading>,
    steady_since: Instant,
) -> Result<Checked, StoreError> {
    let from = Instant::now();
    let LeaseStates {
        now,
        expired,
        too_long,
    } = store.with(Store::inspect_leases).await?;
    let reading = Reading {
        database: now,
        from,
        to: Instant::now(),
    };
    let jump = previous.map(|previous| reading.jump_since(previous));
    if let Some(jump) = jump.filter(|&jump| jump != 0.0) {
        tracing::warn!("the clock of the job database was set by {jump:+.0} seconds");
    }
    let is_steady = jump == Some(0.0);
    if too_long > 0 {
        store.with(Store::shorten_leases).await?;
    }
    if expired > 0 && is_steady && steady_since.elapsed() > store.lease_time() {
        let reason = "the host that ran this job stopped responding";
        for job in store.with(|store| store.end_expired(reason)).await? {
            tracing::warn!(job, "its host stopped responding");
        }
    }
    Ok(Checked { reading, is_steady })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answer_is_no_change_of_the_clock() {
        let begin = Instant::now();
        let reading = |database, from, to| Reading {
            database,
            from: begin + Duration::from_secs(from),
            to: begin + Duration::from_secs(to),
        };
        let first = reading(1000.0, 0, 1);
        assert_eq!(reading(1006.0, 6, 7).jump_since(first), 0.0);
        // The answer took 15 seconds, at the end of which the clock may have been read.
        assert_eq!(reading(1021.0, 6, 21).jump_since(first), 0.0);
        assert!(reading(4606.0, 6, 7).jump_since(first) > 3500.0);
        assert!(reading(400.0, 6, 7).jump_since(first) < -500.0);
    }
}
