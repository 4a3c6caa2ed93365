//! Queries: everything that reads the store without changing it.

use super::{
    Store,
    error::Result,
    lock,
    log::seconds_since,
    positions,
    sql::{Row, Sql, values},
};
use crate::jobs::lease_messages::FreeDevice;
use hipward_protocol::{Event, EventBody, JobState, JobSummary, LogStream, Requirements};
use serde::{Deserialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// The state of the queue, for monitoring.
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    /// The time since the oldest queued job was submitted, seconds. 0 if none is queued.
    pub(crate) oldest_seconds: f64,
    /// Jobs that were started since the server started.
    pub(crate) started: u64,
    /// The sum of the times for which these jobs had waited, seconds.
    pub(crate) waited_seconds: f64,
    /// Jobs that failed since the server started, by the code of the failure.
    pub(crate) failures: BTreeMap<String, u64>,
}

impl Store {
    /// The state of the queue, for monitoring.
    pub(crate) fn queue_metrics(&self) -> Result<QueueMetrics> {
        let oldest: Option<String> = self.read(|tx| {
            tx.one(
                "select min(created_at) from jobs where state = 'queued'",
                &[],
            )
        })?;
        let counters = lock(&self.0.counters).clone();
        Ok(QueueMetrics {
            oldest_seconds: oldest.as_deref().and_then(seconds_since).unwrap_or(0.0),
            started: counters.started,
            waited_seconds: counters.waited_seconds,
            failures: counters.failures,
        })
    }

    /// The jobs that are stored as running on this server.
    pub(crate) fn running(&self) -> Result<Vec<String>> {
        let jobs = self.read(running_jobs)?;
        Ok(jobs.into_iter().map(|(job, _)| job).collect())
    }

    /// Whether a job waits that [`claim`](Store::claim) would lease to this device.
    pub(crate) fn has_work(&self, free: &FreeDevice) -> Result<bool> {
        let (condition, params) = self.claimable(free);
        self.read(|tx| {
            tx.exists(
                &format!("select 1 from jobs where {condition} limit 1"),
                &params,
            )
        })
    }

    /// What a job requires of its host, and the device that it names.
    pub(crate) fn required(&self, id: &str) -> Result<Option<(Requirements, Option<String>)>> {
        let found = self.read(|tx| {
            tx.first(
                "select require, device from jobs where id = ?1",
                values![id],
            )
        })?;
        found
            .map(|row| {
                let require = requirements(&row, 0)?;
                Ok((require.unwrap_or_default(), row.get(1)?))
            })
            .transpose()
    }

    /// The number of queued jobs ahead of a queued job. None if it is not queued.
    pub(crate) fn position(&self, id: &str) -> Result<Option<usize>> {
        Ok(self.summary(id)?.and_then(|summary| summary.position))
    }

    /// A job without its events.
    pub(crate) fn summary(&self, id: &str) -> Result<Option<JobSummary>> {
        self.read(|tx| summary(tx, id))
    }

    /// The owner of a job: the name of the token that submitted it. The outer None is an unknown job.
    pub(crate) fn owner(&self, id: &str) -> Result<Option<Option<String>>> {
        self.read(|tx| tx.value("select owner from jobs where id = ?1", values![id]))
    }

    /// A job's snippet.
    pub(crate) fn code(&self, id: &str) -> Result<Option<String>> {
        self.read(|tx| tx.value("select code from jobs where id = ?1", values![id]))
    }

    /// Up to `limit` events that follow `after`, in order.
    pub(crate) fn events_after(&self, id: &str, after: u64, limit: usize) -> Result<Vec<Event>> {
        let rows = self.read(|tx| {
            tx.query(
                "select seq, attempt, at, body from events where job = ?1 and seq > ?2 order by seq limit ?3",
                values![id, after, limit],
            )
        })?;
        rows.iter().map(event).collect()
    }

    /// The number of jobs in each state.
    pub(crate) fn counts(&self) -> Result<Vec<(JobState, u64)>> {
        let rows =
            self.read(|tx| tx.query("select state, count(*) from jobs group by state", &[]))?;
        rows.iter()
            .map(|row| Ok((parse_name(&row.get::<String>(0)?)?, row.get(1)?)))
            .collect()
    }
}

/// An event, from its columns `seq`, `attempt`, `at` and `body`.
pub(super) fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        seq: row.get(0)?,
        attempt: row.get(1)?,
        at: row.get(2)?,
        body: body(&row.get::<String>(3)?)?,
    })
}

/// The content of an event. One that only a newer version can read is replaced with a note: servers of two versions can share a
/// database while they are upgraded, and an older version can follow a newer one.
fn body(json: &str) -> Result<EventBody> {
    #[derive(Deserialize)]
    struct Unknown {
        r#type: String,
    }
    serde_json::from_str(json).or_else(|error| {
        let Ok(Unknown { r#type }) = serde_json::from_str(json) else {
            return Err(error.into());
        };
        Ok(EventBody::Log {
            stream: LogStream::Runner,
            text: format!(
                "An event of the kind {:?} is left out: this version of Hipward cannot read it.\n",
                r#type
            ),
        })
    })
}

/// A job without its events.
pub(super) fn summary(tx: &dyn Sql, id: &str) -> Result<Option<JobSummary>> {
    summary_at(tx, id, None)
}

/// The same, with the job's position in the queue if it is known.
pub(super) fn summary_at(
    tx: &dyn Sql,
    id: &str,
    position: Option<usize>,
) -> Result<Option<JobSummary>> {
    let found = tx.first(
        "select id, title, attempt, created_at, code_sha256, last_seq, state, variants,
            case state when 'failed' then (select body from events where job = id and seq = last_seq) end, labels,
            device, require
         from jobs where id = ?1",
        values![id],
    )?;
    let Some(row) = found else {
        return Ok(None);
    };
    let state = parse_name(&row.get::<String>(6)?)?;
    Ok(Some(JobSummary {
        id: row.get(0)?,
        title: row.get(1)?,
        state,
        attempt: row.get(2)?,
        created_at: row.get(3)?,
        variants: serde_json::from_str(&row.get::<String>(7)?)?,
        labels: labels(&row, 9)?,
        requested_device: row.get(10)?,
        require: requirements(&row, 11)?,
        code_sha256: row.get(4)?,
        last_seq: row.get(5)?,
        position: match state {
            JobState::Queued => match position {
                Some(position) => Some(position),
                None => Some(positions::position(tx, id, None)?),
            },
            _ => None,
        },
        failure: failure(&row)?,
    }))
}

/// The requirements of a job, in a column.
fn requirements(row: &Row, column: usize) -> Result<Option<Requirements>> {
    let require: Option<String> = row.get(column)?;
    Ok(require
        .map(|json| serde_json::from_str(&json))
        .transpose()?)
}

/// The labels of a job, in a column.
fn labels(row: &Row, column: usize) -> Result<Vec<String>> {
    let labels: Option<String> = row.get(column)?;
    Ok(labels
        .map(|labels| serde_json::from_str(&labels))
        .transpose()?
        .unwrap_or_default())
}

/// The failure in the final event of a failed job, which is a column of its summary.
fn failure(row: &Row) -> Result<Option<hipward_protocol::Failure>> {
    let event: Option<String> = row.get(8)?;
    Ok(event
        .map(|event| serde_json::from_str(&event))
        .transpose()?)
}

/// Jobs that are stored as running with leases that do not expire, which are those of this server, with their attempts, in the
/// order of the queue.
pub(super) fn running_jobs(tx: &dyn Sql) -> Result<Vec<(String, u32)>> {
    let rows = tx.query(
        "select id, attempt from jobs where state = 'running' and lease_until is null order by number",
        &[],
    )?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Parses the name of a variant of an enum, as it is stored.
pub(super) fn parse_name<T: DeserializeOwned>(name: &str) -> Result<T> {
    Ok(serde_json::from_value(name.into())?)
}
