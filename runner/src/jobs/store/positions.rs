//! Positions of queued jobs: how many jobs are ahead of each, counted up to [`COUNTED`]. Only jobs that may run on the same device count.

use super::{
    error::Result,
    log::COUNTED,
    long_queue::{LongQueue, Place},
    sql::{Row, Sql, Value, values},
};
use std::collections::{BTreeMap, HashMap};

/// Where a queued job is in the queue.
#[derive(Clone, Debug)]
pub(super) struct Queued {
    place: Place,
    /// The only device that it may run on, if it names one.
    device: Option<String>,
}

impl Queued {
    /// Reads the columns rank, turn, number and device, of which `first` is the first.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self> {
        Ok(Queued {
            place: Place {
                rank: row.get(first)?,
                turn: row.get(first + 1)?,
                number: row.get(first + 2)?,
            },
            device: row.get(first + 3)?,
        })
    }

    /// A queued job with a place, which may run on one device only.
    pub(super) fn new(place: Place, device: Option<String>) -> Self {
        Queued { place, device }
    }

    /// Its position. With `long_queue`, the count of another job may be used.
    pub(super) fn position(&self, tx: &dyn Sql, long_queue: Option<&LongQueue>) -> Result<usize> {
        let count = || self.ahead(tx, None, COUNTED);
        match long_queue {
            Some(long_queue) if self.device.is_none() => long_queue.ahead(self.place, count),
            _ => count(),
        }
    }

    /// The number of jobs ahead of it, at most `limit`. Those before `from` are left out.
    fn ahead(&self, tx: &dyn Sql, from: Option<Place>, limit: usize) -> Result<usize> {
        let Queued { place, device } = self;
        let mut params: Vec<Value> =
            values![place.rank, place.turn, place.number, device, limit].to_vec();
        let mut after = "";
        if let Some(from) = from {
            params.extend_from_slice(values![from.rank, from.turn, from.number]);
            after = "and (rank, turn, number) >= (?6, ?7, ?8)";
        }
        // In the order of the index, so that the count ends at the limit.
        tx.one(
            &format!(
                "select count(*) from (
                     select 1 from jobs where state = 'queued' and (rank, turn, number) < (?1, ?2, ?3) {after}
                         and (device is null or cast(?4 as text) is null or device = ?4)
                     order by rank, turn, number limit ?5
                 ) ahead"
            ),
            &params,
        )
    }
}

/// The position of a job. With `long_queue`, the count of another job may be used.
pub(super) fn position(tx: &dyn Sql, job: &str, long_queue: Option<&LongQueue>) -> Result<usize> {
    let found = tx.first(
        "select rank, turn, number, device from jobs where id = ?1",
        values![job],
    )?;
    let Some(found) = found else {
        return Ok(0);
    };
    Queued::read(&found, 0)?.position(tx, long_queue)
}

/// The positions of several jobs, by id. Each part of the queue is counted once for each device that they name.
pub(super) fn positions(
    tx: &dyn Sql,
    jobs: impl IntoIterator<Item = (String, Queued)>,
) -> Result<HashMap<String, usize>> {
    let mut by_device: BTreeMap<Option<String>, Vec<(String, Queued)>> = BTreeMap::new();
    for (id, queued) in jobs {
        let device = queued.device.clone();
        by_device.entry(device).or_default().push((id, queued));
    }
    let mut positions = HashMap::new();
    for mut jobs in by_device.into_values() {
        jobs.sort_by_key(|(_, queued)| queued.place);
        let mut ahead = 0;
        let mut from = None;
        for (id, queued) in jobs {
            if ahead < COUNTED {
                ahead += queued.ahead(tx, from, COUNTED - ahead)?;
                from = Some(queued.place);
            }
            positions.insert(id, ahead);
        }
    }
    Ok(positions)
}
