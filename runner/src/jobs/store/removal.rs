//! Removes jobs: one on request, and old ones by the operator's retention.

use super::{
    CancelOutcome, Store,
    error::Result,
    log::{Change, Log, timestamp},
    sql::{Sql, values},
};
use std::time::Duration;
use time::OffsetDateTime;

/// Jobs that one transaction removes, so that others do not wait long.
const BATCH: usize = 16;

/// How long ended jobs are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Time after its end at which a job is removed.
    pub(crate) max_age: Option<Duration>,
    /// Size of the database, bytes, above which the oldest jobs are removed.
    pub(crate) max_bytes: Option<u64>,
}

/// The result of removing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoveOutcome {
    /// The job was removed. `was_active`: it was queued or running before, and was cancelled.
    Removed {
        /// Whether it had not ended.
        was_active: bool,
    },
    /// No job has this id.
    NotFound,
}

impl Store {
    /// Cancels a job if it has not ended, and removes it with its code and event log.
    pub(crate) fn remove(&self, id: &str) -> Result<RemoveOutcome> {
        let was_active = match self.cancel(id)? {
            CancelOutcome::NotFound => return Ok(RemoveOutcome::NotFound),
            CancelOutcome::Cancelled => true,
            CancelOutcome::AlreadyEnded => false,
        };
        self.change(|tx, log| remove(tx, log, id))?;
        self.0.database.shrink()?;
        Ok(RemoveOutcome::Removed { was_active })
    }

    /// Removes ended jobs that the retention does not include. Returns their number.
    pub(crate) fn purge(&self, retention: Retention) -> Result<usize> {
        let mut removed = 0;
        if let Some(age) = retention.max_age {
            let age = time::Duration::try_from(age).unwrap_or(time::Duration::MAX);
            let oldest = OffsetDateTime::now_utc().checked_sub(age);
            // Nothing is older than the beginning of time.
            let oldest = oldest.map_or_else(String::new, timestamp);
            loop {
                let batch = self.remove_oldest(&oldest)?;
                removed += batch;
                if batch == 0 {
                    break;
                }
            }
        }
        while let Some(most) = retention.max_bytes
            && self.live_bytes()? > most
        {
            let batch = self.remove_oldest("~")?;
            removed += batch;
            if batch == 0 {
                break;
            }
        }
        if removed > 0 {
            self.0.database.shrink()?;
        }
        Ok(removed)
    }

    /// The size of the database without free pages, bytes.
    pub(crate) fn live_bytes(&self) -> Result<u64> {
        self.0.database.live_bytes()
    }

    /// Removes some of the jobs that ended before a time, the oldest first. Returns their number.
    fn remove_oldest(&self, before: &str) -> Result<usize> {
        self.change(|tx, log| {
            let rows = tx.query(
                &format!(
                    "select id from jobs where ended_at < ?1 order by ended_at, number limit ?2{}",
                    tx.dialect().skip_locked
                ),
                values![before, BATCH],
            )?;
            for row in &rows {
                remove(tx, log, &row.get::<String>(0)?)?;
            }
            Ok(rows.len())
        })
    }
}

/// Removes a job that has ended, and notifies the watchers of its log.
fn remove(tx: &dyn Sql, log: &mut Log, id: &str) -> Result<()> {
    tx.execute("delete from events where job = ?1", values![id])?;
    if tx.execute("delete from jobs where id = ?1", values![id])? > 0 {
        log.changes.push(Change {
            job: id.to_owned(),
            event: None,
        });
    }
    Ok(())
}
