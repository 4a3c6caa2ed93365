//! Writes events, and with them the states of jobs. Nothing else does. Works inside
//! a transaction of the store.

use super::Result;
use hipward_protocol::{EventBody, Failure, FailureCode, JobState};
use rusqlite::{Connection, Transaction, params};
use serde::Serialize;
use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};

/// Number of server crashes during a job's code after which the job is assumed to be the cause and fails.
const MAX_CRASHES: u32 = 2;

/// The events that one transaction adds.
#[derive(Default)]
pub(super) struct Log {
    /// The added events: the job and the sequence number.
    pub(super) added: Vec<(String, u64)>,
    /// Whether the queue has changed.
    pub(super) queue_changed: bool,
    /// The codes of jobs that failed.
    pub(super) failures: Vec<String>,
    /// For how long jobs had waited that are leased for the first time, seconds.
    pub(super) waited: Vec<f64>,
}

impl Log {
    /// Adds an event to a job's log and updates its state.
    pub(super) fn add(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        body: &EventBody,
    ) -> Result<()> {
        let state = state_after(body)
            .map(|state| stored_name(&state))
            .transpose()?;
        let now = now();
        let ended_at = body.is_final().then_some(&now);
        let seq: i64 = tx
            .prepare_cached(
                "update jobs set last_seq = last_seq + 1, state = coalesce(?2, state), ended_at = coalesce(?3, ended_at)
                 where id = ?1 returning last_seq",
            )?
            .query_row(params![job, state, ended_at], |row| row.get(0))?;
        tx.prepare_cached(
            "insert into events (job, seq, attempt, at, body) values (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            job,
            seq,
            attempt,
            now,
            serde_json::to_string(body)?
        ])?;
        match body {
            EventBody::Failed(failure) => self.failures.push(stored_name(&failure.code)?),
            EventBody::Leased { .. } if attempt == 1 => {
                let waited = "select (julianday('now') - julianday(created_at)) * 86400 from jobs where id = ?1";
                let waited: Option<f64> = tx
                    .prepare_cached(waited)?
                    .query_row([job], |row| row.get(0))?;
                self.waited.extend(waited.map(|seconds| seconds.max(0.0)));
            }
            _ => {}
        }
        self.added.push((job.to_owned(), seq.cast_unsigned()));
        // A job that changes its state may enter or leave the queue.
        self.queue_changed |= state_after(body).is_some();
        Ok(())
    }

    /// Queues a job, for the first time or again.
    pub(super) fn queue(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        reason: Option<&str>,
    ) -> Result<()> {
        let queued = EventBody::Queued {
            position: position(tx, job)?,
            reason: reason.map(str::to_owned),
        };
        self.add(tx, job, attempt, &queued)
    }

    /// Handles a job whose server ended, or which was lost. Returns true if the job is queued again, and false if it fails because its code had started and
    /// this happened before.
    pub(super) fn interrupt(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        reason: &str,
    ) -> Result<bool> {
        let crashes: u32 = tx
            .prepare_cached(
                "update jobs set crashes = crashes + (begun = attempt) where id = ?1 returning crashes",
            )?
            .query_row([job], |row| row.get(0))?;
        if crashes < MAX_CRASHES {
            self.queue(tx, job, attempt, Some(reason))?;
            return Ok(true);
        }
        let failed = EventBody::Failed(Failure {
            code: FailureCode::Interrupted,
            message: format!("It was tried {crashes} times, and each time {reason}."),
            help: "Submit it again. If it happens again, the job may be the cause: \
                   look at the runner's log."
                .to_owned(),
            traceback: None,
        });
        self.add(tx, job, attempt, &failed)?;
        Ok(false)
    }
}

/// The number of queued jobs ahead of a job. Only jobs that may run on the same device count.
pub(super) fn position(connection: &Connection, job: &str) -> Result<usize> {
    let ahead: i64 = connection
        .prepare_cached(
            "select count(*) from jobs ahead, jobs waiting
             where waiting.id = ?1 and ahead.state = 'queued' and ahead.number < waiting.number
               and (ahead.device is null or waiting.device is null or ahead.device = waiting.device)",
        )?
        .query_row([job], |row| row.get(0))?;
    Ok(usize::try_from(ahead).unwrap_or(0))
}

/// The new state of a job after an event, if the event changes it.
fn state_after(body: &EventBody) -> Option<JobState> {
    match body {
        EventBody::AwaitingApproval => Some(JobState::AwaitingApproval),
        EventBody::Queued { .. } => Some(JobState::Queued),
        EventBody::Leased { .. } => Some(JobState::Running),
        EventBody::Done => Some(JobState::Done),
        EventBody::Failed(_) => Some(JobState::Failed),
        EventBody::Cancelled => Some(JobState::Cancelled),
        EventBody::Approved
        | EventBody::Measured(_)
        | EventBody::VariantDone { .. }
        | EventBody::Log { .. }
        | EventBody::Verdict(_) => None,
    }
}

/// The stored name of an enum's value, which is its name in the API.
pub(super) fn stored_name(value: &impl Serialize) -> Result<String> {
    let quoted = serde_json::to_string(value)?;
    Ok(quoted.trim_matches('"').to_owned())
}

/// The current time as it is stored.
pub(super) fn now() -> String {
    timestamp(OffsetDateTime::now_utc())
}

/// RFC 3339, UTC, milliseconds. The order of such texts is the order of the times.
pub(super) fn timestamp(time: OffsetDateTime) -> String {
    const FORMAT: &[BorrowedFormatItem] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    // These components exist for every time, so formatting them cannot fail.
    time.format(FORMAT).unwrap_or_default()
}
