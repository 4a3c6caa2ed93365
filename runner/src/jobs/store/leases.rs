//! Leases that expire, and appends that can be repeated: for servers that share a database.

use super::{
    Lease, Store, current,
    error::Result,
    log::Log,
    sql::{Sql, values},
};
use crate::jobs::store::StoreError;
use hipward_protocol::EventBody;
use std::time::Duration;

impl Store {
    /// Whether other servers can use the database at the same time. Leases then expire.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.database.is_shared()
    }

    /// Adds those of a lease's events that are not stored yet. `after` is the number of the attempt's events before the first of
    /// `bodies`.
    pub(crate) fn append_after(
        &self,
        lease: &Lease,
        after: usize,
        bodies: &[EventBody],
    ) -> Result<()> {
        self.change(|tx, log| {
            current(tx, lease)?;
            let received: usize = tx.one(
                "select received from jobs where id = ?1",
                values![&lease.job],
            )?;
            let known = received.saturating_sub(after).min(bodies.len());
            append(tx, log, lease, &bodies[known..])?;
            tx.execute(
                "update jobs set received = ?2 where id = ?1",
                values![&lease.job, received.max(after + bodies.len())],
            )?;
            Ok(())
        })
    }

    /// Renews a lease for `valid` from now on. Fails if the lease has ended.
    pub(crate) fn renew(&self, lease: &Lease, valid: Option<Duration>) -> Result<()> {
        let Some(valid) = valid else {
            let is_current = self.read(|tx| {
                tx.exists(
                    "select 1 from jobs where id = ?1 and attempt = ?2 and state = 'running'",
                    values![&lease.job, lease.attempt],
                )
            })?;
            return is_current.then_some(()).ok_or(StoreError::Fenced);
        };
        self.change(|tx, _| {
            let statement = format!(
                "update jobs set lease_until = {} + ?3 where id = ?1 and attempt = ?2 and state = 'running'",
                tx.dialect().now
            );
            let renewed = tx.execute(
                &statement,
                values![&lease.job, lease.attempt, valid.as_secs_f64()],
            )?;
            (renewed > 0).then_some(()).ok_or(StoreError::Fenced)
        })
    }

    /// The number of running jobs whose lease has expired.
    pub(crate) fn expired(&self) -> Result<usize> {
        self.read(|tx| {
            let count = format!(
                "select count(*) from jobs where state = 'running' and lease_until < {}",
                tx.dialect().now
            );
            tx.one(&count, &[])
        })
    }

    /// Requeues or fails the jobs whose lease has expired. Returns their ids.
    pub(crate) fn end_expired(&self, reason: &str) -> Result<Vec<String>> {
        self.change(|tx, log| {
            let dialect = tx.dialect();
            let expired = tx.query(
                &format!(
                    "select id, attempt from jobs where state = 'running' and lease_until < {} order by number{}",
                    dialect.now, dialect.skip_locked
                ),
                &[],
            )?;
            let mut jobs = Vec::with_capacity(expired.len());
            for row in expired {
                let job: String = row.get(0)?;
                log.interrupt(tx, &job, row.get(1)?, reason)?;
                jobs.push(job);
            }
            Ok(jobs)
        })
    }
}

/// Adds events to the log of a leased job. Fails if one of them follows a final event.
pub(super) fn append(
    tx: &dyn Sql,
    log: &mut Log,
    lease: &Lease,
    bodies: &[EventBody],
) -> Result<()> {
    for body in bodies {
        current(tx, lease)?;
        log.add(tx, &lease.job, lease.attempt, body)?;
    }
    Ok(())
}
