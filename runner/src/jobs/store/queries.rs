//! Queries: everything that reads the store without changing it.

use super::{Store, error::Result, lock, log};
use hipward_protocol::{Event, JobState, JobSummary, ListedJob};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
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
        let oldest: Option<f64> = self.reader().query_row(
            "select max((julianday('now') - julianday(created_at)) * 86400) from jobs where state = 'queued'",
            [],
            |row| row.get(0),
        )?;
        let counters = lock(&self.0.counters).clone();
        Ok(QueueMetrics {
            oldest_seconds: oldest.unwrap_or(0.0).max(0.0),
            started: counters.started,
            waited_seconds: counters.waited_seconds,
            failures: counters.failures,
        })
    }

    /// The jobs that are stored as running.
    pub(crate) fn running(&self) -> Result<Vec<String>> {
        let jobs = running_jobs(&self.reader())?;
        Ok(jobs.into_iter().map(|(job, _)| job).collect())
    }

    /// Whether a job waits that [`claim`](Store::claim) would lease to this device.
    pub(crate) fn has_work(&self, device: &str, unassigned: bool) -> Result<bool> {
        Ok(self
            .reader()
            .prepare_cached(
                "select 1 from jobs where state = 'queued' and (device = ?1 or (device is null and ?2)) limit 1",
            )?
            .exists(params![device, unassigned])?)
    }

    /// The number of queued jobs ahead of a queued job. None if it is not queued.
    pub(crate) fn position(&self, id: &str) -> Result<Option<usize>> {
        Ok(self.summary(id)?.and_then(|summary| summary.position))
    }

    /// A job without its events.
    pub(crate) fn summary(&self, id: &str) -> Result<Option<JobSummary>> {
        let connection = self.reader();
        // One snapshot for all queries.
        summary(&*connection.unchecked_transaction()?, id)
    }

    /// Up to `limit` jobs, the newest first.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<ListedJob>> {
        let connection = self.reader();
        // One snapshot for all queries.
        let connection = connection.unchecked_transaction()?;
        let mut query =
            connection.prepare_cached("select id from jobs order by number desc limit ?1")?;
        let ids = query.query_map([limit as i64], |row| row.get::<_, String>(0))?;
        let ids: Vec<String> = ids.collect::<std::result::Result<_, _>>()?;
        let mut listed = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(job) = summary(&connection, &id)? {
                let headline = headline(&connection, &job)?;
                listed.push(ListedJob { job, headline });
            }
        }
        Ok(listed)
    }

    /// The owner of a job: the name of the token that submitted it. The outer None is an unknown job.
    pub(crate) fn owner(&self, id: &str) -> Result<Option<Option<String>>> {
        Ok(self
            .reader()
            .query_row("select owner from jobs where id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()?)
    }

    /// A job's snippet.
    pub(crate) fn code(&self, id: &str) -> Result<Option<String>> {
        Ok(self
            .reader()
            .query_row("select code from jobs where id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()?)
    }

    /// Up to `limit` events that follow `after`, in order.
    pub(crate) fn events_after(&self, id: &str, after: u64, limit: usize) -> Result<Vec<Event>> {
        let connection = self.reader();
        let mut query = connection.prepare_cached(
            "select seq, attempt, at, body from events where job = ?1 and seq > ?2 order by seq limit ?3",
        )?;
        let rows = query.query_map(params![id, after as i64, limit as i64], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get::<_, String>(3)?,
            ))
        })?;
        rows.map(|row| {
            let (seq, attempt, at, body) = row?;
            Ok(Event {
                seq: seq.cast_unsigned(),
                attempt,
                at,
                body: serde_json::from_str(&body)?,
            })
        })
        .collect()
    }

    /// The number of jobs in each state.
    pub(crate) fn counts(&self) -> Result<Vec<(JobState, u64)>> {
        let connection = self.reader();
        let mut query =
            connection.prepare_cached("select state, count(*) from jobs group by state")?;
        let rows = query.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        rows.map(|row| {
            let (state, count) = row?;
            Ok((parse_name(&state)?, count.cast_unsigned()))
        })
        .collect()
    }
}

/// A job without its events.
pub(super) fn summary(connection: &Connection, id: &str) -> Result<Option<JobSummary>> {
    let found = connection
            .prepare_cached(
                "select id, title, attempt, created_at, code_sha256, last_seq, state, variants,
                    case state when 'failed' then (select body from events where job = id and seq = last_seq) end
                 from jobs where id = ?1",
            )?
            .query_row([id], summary_columns)
            .optional()?;
    let Some((mut summary, state, variants, failed)) = found else {
        return Ok(None);
    };
    summary.state = parse_name(&state)?;
    if summary.state == JobState::Queued {
        summary.position = Some(log::position(connection, id)?);
    }
    summary.variants = serde_json::from_str(&variants)?;
    summary.failure = failed
        .map(|event| serde_json::from_str(&event))
        .transpose()?;
    Ok(Some(summary))
}

/// The sentence of a job's verdict, which is among its last events.
fn headline(connection: &Connection, job: &JobSummary) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached(
            "select json_extract(body, '$.summary') from events
             where job = ?1 and seq > ?2 and json_extract(body, '$.type') = 'verdict' order by seq desc limit 1",
        )?
        .query_row(params![job.id, job.last_seq.saturating_sub(4) as i64], |row| row.get(0))
        .optional()?)
}

/// The summary without the three columns that need parsing: state, variants, and the final event of a failed job.
fn summary_columns(row: &Row) -> rusqlite::Result<(JobSummary, String, String, Option<String>)> {
    let summary = JobSummary {
        id: row.get(0)?,
        title: row.get(1)?,
        state: JobState::Queued,
        attempt: row.get(2)?,
        created_at: row.get(3)?,
        variants: Vec::new(),
        code_sha256: row.get(4)?,
        last_seq: row.get::<_, i64>(5)?.cast_unsigned(),
        position: None,
        failure: None,
    };
    Ok((summary, row.get(6)?, row.get(7)?, row.get(8)?))
}

/// Jobs that are stored as running, with their attempts, in the order of the queue.
pub(super) fn running_jobs(connection: &Connection) -> Result<Vec<(String, u32)>> {
    let mut query = connection
        .prepare_cached("select id, attempt from jobs where state = 'running' order by number")?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

/// Parses the name of a variant of an enum, as it is stored.
pub(super) fn parse_name<T: DeserializeOwned>(name: &str) -> Result<T> {
    Ok(serde_json::from_value(name.into())?)
}
