//! Leases that expire, and appends that can be repeated: for servers that share a database.

use super::{
    Lease, Store,
    error::Result,
    log::Log,
    sql::{Sql, values},
};
use crate::jobs::store::StoreError;
use hipward_protocol::EventBody;
use std::time::Duration;

/// The leases of running jobs at a time of the database's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseStates {
    /// The time, seconds since 1970.
    pub(crate) now: f64,
    /// The number of leases that have expired.
    pub(crate) expired: usize,
    /// The number of leases that are valid for longer than a renewal makes them.
    pub(crate) too_long: usize,
}

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
            let received: Option<usize> = tx.value(
                &format!(
                    "select received from jobs where id = ?1 and attempt = ?2 and state = 'running'{}",
                    tx.dialect().for_update
                ),
                values![&lease.job, lease.attempt],
            )?;
            let received = received.ok_or(StoreError::Fenced)?;
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

    /// The leases of running jobs, by the database's clock.
    pub(crate) fn inspect_leases(&self) -> Result<LeaseStates> {
        self.read(|tx| {
            let now = tx.dialect().now;
            let count = format!(
                "select {now}, coalesce(sum(case when lease_until < {now} then 1 else 0 end), 0),
                     coalesce(sum(case when lease_until > {now} + ?1 then 1 else 0 end), 0)
                 from jobs where state = 'running'"
            );
            let row = tx.first(&count, values![self.lease_time().as_secs_f64()])?;
            let row = row.ok_or(StoreError::UnexpectedValue)?;
            Ok(LeaseStates {
                now: row.get(0)?,
                expired: row.get(1)?,
                too_long: row.get(2)?,
            })
        })
    }

    /// Shortens the leases that are valid for longer than a renewal makes them, because the database's clock was set back. Those of
    /// lost hosts would otherwise be valid until the clock has the old time again.
    pub(crate) fn shorten_leases(&self) -> Result<()> {
        self.change(|tx, _| {
            let now = tx.dialect().now;
            let shorten = format!(
                "update jobs set lease_until = {now} + ?1 where state = 'running' and lease_until > {now} + ?1"
            );
            tx.execute(&shorten, values![self.lease_time().as_secs_f64()])
                .map(drop)
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

/// Adds events to the log of a job whose lease was checked in this transaction. Fails if one of them follows a final event.
pub(super) fn append(
    tx: &dyn Sql,
    log: &mut Log,
    lease: &Lease,
    bodies: &[EventBody],
) -> Result<()> {
    let before_last = bodies.split_last().map_or(bodies, |(_, before)| before);
    if before_last.iter().any(EventBody::is_final) {
        return Err(StoreError::Fenced);
    }
    for body in bodies {
        log.add(tx, &lease.job, lease.attempt, body)?;
    }
    Ok(())
}
