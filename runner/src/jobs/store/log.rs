//! Writes events, and with them the states of jobs. Nothing else does. Works inside
//! a transaction of the store.

use super::{
    deliveries,
    error::{Result, StoreError},
    long_queue::LongQueue,
    positions::position,
    sql::{Sql, values},
    turns, usage,
};
use hipward_protocol::{Event, EventBody, Failure, FailureCode, JobState, Verdict};
use serde::Serialize;
use std::sync::Arc;
use time::{
    OffsetDateTime, PrimitiveDateTime, format_description::BorrowedFormatItem,
    macros::format_description,
};

/// Number of server crashes during a job's code after which the job is assumed to be the cause and fails.
const MAX_CRASHES: u32 = 2;

/// Maximum number of jobs that are counted one by one. Counting a longer queue for each submission would take longer than the rest
/// of it.
pub(super) const COUNTED: usize = 10_000;

/// The events that one transaction adds.
#[derive(Default)]
pub(super) struct Log {
    /// The added events, and the removed jobs.
    pub(super) changes: Vec<Change>,
    /// Whether the queue has changed.
    pub(super) queue_changed: bool,
    /// Whether a device may get a job that it would not have got before.
    pub(super) work_added: bool,
    /// Whether the number of running jobs of an owner is limited, so that the end of one may let another start.
    pub(super) limits_running: bool,
    /// The codes of jobs that failed.
    pub(super) failures: Vec<String>,
    /// For how long jobs had waited that are leased for the first time, seconds.
    pub(super) waited: Vec<f64>,
    /// The addresses that are notified when a job ends.
    pub(super) webhooks: Option<Arc<[String]>>,
    /// What is known about the length of the queue.
    pub(super) long_queue: Arc<LongQueue>,
}

/// A change of a job's log.
pub(super) struct Change {
    /// The job.
    pub(super) job: String,
    /// The added event. None if the job was removed.
    pub(super) event: Option<Event>,
}

impl Log {
    /// Adds an event to a job's log and updates its state.
    pub(super) fn add(
        &mut self,
        tx: &dyn Sql,
        job: &str,
        attempt: u32,
        body: &EventBody,
    ) -> Result<()> {
        let state = state_after(body)
            .map(|state| stored_name(&state))
            .transpose()?;
        // Before its first attempt a job has used no device.
        if attempt > 0 && state.is_some() {
            usage::end_lease(tx, job)?;
        }
        let now = now();
        let ended_at = body.is_final().then_some(&now);
        let seq: u64 = tx
            .value(
                "update jobs set last_seq = last_seq + 1, state = coalesce(?2, state), ended_at = coalesce(?3, ended_at)
                 where id = ?1 returning last_seq",
                values![job, state, ended_at],
            )?
            .ok_or(StoreError::Fenced)?;
        self.record_at(tx, job, attempt, seq, now, body)?;
        match body {
            EventBody::Failed(failure) => {
                self.failures.push(stored_name(&failure.code)?);
                tx.execute(
                    "update jobs set result = coalesce(result, ?2) where id = ?1",
                    values![job, &failure.message],
                )?;
            }
            EventBody::Verdict(verdict) => {
                tx.execute(
                    "update jobs set outcomes = ?2, result = ?3 where id = ?1",
                    values![job, outcomes(verdict)?, &verdict.summary],
                )?;
            }
            _ => {}
        }
        if body.is_final()
            && let Some(urls) = &self.webhooks
        {
            deliveries::add(tx, urls, job)?;
        }
        Ok(())
    }

    /// Adds an event whose number and state the job's row has already.
    pub(super) fn record(
        &mut self,
        tx: &dyn Sql,
        job: &str,
        attempt: u32,
        seq: u64,
        body: &EventBody,
    ) -> Result<()> {
        self.record_at(tx, job, attempt, seq, now(), body)
    }

    fn record_at(
        &mut self,
        tx: &dyn Sql,
        job: &str,
        attempt: u32,
        seq: u64,
        at: String,
        body: &EventBody,
    ) -> Result<()> {
        tx.execute(
            "insert into events (job, seq, attempt, at, body) values (?1, ?2, ?3, ?4, ?5)",
            values![job, seq, attempt, &at, serde_json::to_string(body)?],
        )?;
        let event = Event {
            seq,
            attempt,
            at,
            body: body.clone(),
        };
        self.changes.push(Change {
            job: job.to_owned(),
            event: Some(event),
        });
        // A job that changes its state may enter or leave the queue.
        self.queue_changed |= state_after(body).is_some();
        self.work_added |=
            matches!(body, EventBody::Queued { .. }) || (self.limits_running && body.is_final());
        Ok(())
    }

    /// Queues a stored job, after its approval or again. Returns its position.
    pub(super) fn queue(
        &mut self,
        tx: &dyn Sql,
        job: &str,
        attempt: u32,
        reason: Option<&str>,
    ) -> Result<usize> {
        if attempt == 0 {
            turns::take(tx, job)?;
        }
        let position = position(tx, job, Some(&self.long_queue))?;
        let queued = EventBody::Queued {
            position,
            reason: reason.map(str::to_owned),
        };
        self.add(tx, job, attempt, &queued)?;
        Ok(position)
    }

    /// Handles a job whose server ended, or which was lost. Returns true if the job is queued again, and false if it fails because
    /// its code had started and this happened before.
    pub(super) fn interrupt(
        &mut self,
        tx: &dyn Sql,
        job: &str,
        attempt: u32,
        reason: &str,
    ) -> Result<bool> {
        let crashes: u32 = tx.one(
            "update jobs set crashes = crashes + case when begun = attempt then 1 else 0 end where id = ?1 returning crashes",
            values![job],
        )?;
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

/// The outcomes of a verdict as they are stored: each once, between spaces.
fn outcomes(verdict: &Verdict) -> Result<String> {
    let mut text = " ".to_owned();
    for comparison in &verdict.comparisons {
        let name = stored_name(&comparison.outcome)?;
        if !text.contains(&format!(" {name} ")) {
            text.push_str(&name);
            text.push(' ');
        }
    }
    Ok(text)
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

/// RFC 3339, UTC, milliseconds.
const FORMAT: &[BorrowedFormatItem] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// A time as it is stored. The order of such texts is the order of the times.
pub(super) fn timestamp(time: OffsetDateTime) -> String {
    // These components exist for every time, so formatting them cannot fail.
    time.format(FORMAT).unwrap_or_default()
}

/// The time since a stored time, seconds. At least 0, and None if the text is not a time.
pub(super) fn seconds_since(stored: &str) -> Option<f64> {
    let then = PrimitiveDateTime::parse(stored, FORMAT).ok()?.assume_utc();
    Some((OffsetDateTime::now_utc() - then).as_seconds_f64().max(0.0))
}
