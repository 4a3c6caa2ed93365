//! The time for which the jobs of each owner ran on devices, by day (UTC).

use super::{
    error::Result,
    sql::{Sql, values},
};

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;
/// Days for which the usage is stored.
const STORED_DAYS: i64 = 31;

/// Adds the time of a lease that ends to the usage of the job's owner. Has no effect on a job without a lease.
pub(super) fn end_lease(tx: &dyn Sql, job: &str) -> Result<()> {
    let now = tx.dialect().now;
    let ended = tx.execute(
        &format!(
            "insert into device_usage (owner, day, seconds)
             select owner, cast({now} as bigint) / ?2, {now} - leased_at from jobs
             where id = ?1 and owner is not null and leased_at < {now}
             on conflict (owner, day) do update set seconds = device_usage.seconds + excluded.seconds"
        ),
        values![job, DAY],
    )?;
    if ended > 0 {
        tx.execute(
            &format!("delete from device_usage where day < cast({now} as bigint) / ?1 - ?2"),
            values![DAY, STORED_DAYS],
        )?;
    }
    tx.execute(
        "update jobs set leased_at = null where id = ?1 and leased_at is not null",
        values![job],
    )?;
    Ok(())
}

/// The time for which the jobs of an owner ran on devices today, seconds. Running jobs count.
pub(super) fn today(tx: &dyn Sql, owner: &str) -> Result<f64> {
    let now = tx.dialect().now;
    let ended: f64 = tx.one(
        &format!(
            "select coalesce(sum(seconds), 0) from device_usage where owner = ?1 and day = cast({now} as bigint) / ?2"
        ),
        values![owner, DAY],
    )?;
    let running: f64 = tx.one(
        &format!(
            "select coalesce(sum({now} - leased_at), 0) from jobs where state = 'running' and owner = ?1 and leased_at is not null"
        ),
        values![owner],
    )?;
    Ok(ended + running.max(0.0))
}

/// Time until the next day begins, seconds.
pub(super) fn seconds_of_today_left(tx: &dyn Sql) -> Result<u64> {
    let now: f64 = tx.one(&format!("select {}", tx.dialect().now), &[])?;
    let now = now as i64;
    Ok((DAY - now.rem_euclid(DAY)).unsigned_abs())
}
