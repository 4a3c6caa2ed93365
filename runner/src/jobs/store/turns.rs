//! Turns: the order of the queued jobs of one priority, in which their owners alternate.

use super::{
    error::Result,
    sql::{Sql, values},
};
use hipward_protocol::Priority;

/// The stored order of a priority. The smallest is first.
pub(super) fn rank(priority: Priority) -> i64 {
    match priority {
        Priority::High => -1,
        Priority::Normal => 0,
        Priority::Low => 1,
    }
}

/// Sets the turn of a job that is queued for the first time: after the last queued job of its owner, or the current turn if
/// its owner has none. The n-th jobs of all owners thereby run before the next one of any owner.
pub(super) fn take(tx: &dyn Sql, job: &str) -> Result<()> {
    let Some(row) = tx.first("select rank, owner from jobs where id = ?1", values![job])? else {
        return Ok(());
    };
    let (rank, owner): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
    let queued = "from jobs where state = 'queued' and rank = ?1 and id <> ?2";
    let last: Option<i64> = match &owner {
        Some(owner) => tx.one(
            &format!("select max(turn) {queued} and owner = ?3"),
            values![rank, job, owner],
        )?,
        None => tx.one(
            &format!("select max(turn) {queued} and owner is null"),
            values![rank, job],
        )?,
    };
    let turn = match last {
        Some(last) => last + 1,
        None => {
            let current: Option<i64> =
                tx.one(&format!("select min(turn) {queued}"), values![rank, job])?;
            current.unwrap_or(0)
        }
    };
    tx.execute(
        "update jobs set turn = ?2 where id = ?1",
        values![job, turn],
    )?;
    Ok(())
}
