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

/// Sets the turn of a stored job that is queued for the first time, because it was approved.
pub(super) fn take(tx: &dyn Sql, job: &str) -> Result<()> {
    let Some(row) = tx.first("select rank, owner from jobs where id = ?1", values![job])? else {
        return Ok(());
    };
    let owner: Option<String> = row.get(1)?;
    let turn = next(tx, row.get(0)?, owner.as_deref())?;
    tx.execute(
        "update jobs set turn = ?2 where id = ?1",
        values![job, turn],
    )?;
    Ok(())
}

/// The turn of a job that is queued now: after the last queued job of its owner, or the current turn if its owner has none. The
/// n-th jobs of all owners thereby run before the next one of any owner.
pub(super) fn next(tx: &dyn Sql, rank: i64, owner: Option<&str>) -> Result<i64> {
    let queued = "from jobs where state = 'queued' and rank = ?1";
    let (is_owner, params) = match owner {
        Some(owner) => ("owner = ?2", values![rank, owner].to_vec()),
        None => ("owner is null", values![rank].to_vec()),
    };
    tx.one(
        &format!(
            "select coalesce((select max(turn) + 1 {queued} and {is_owner}), (select min(turn) {queued}), 0)"
        ),
        &params,
    )
}
