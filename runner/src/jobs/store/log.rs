//! The one place that writes events, and with them states and places in the queue. It works inside
//! a transaction of the store; reading is the store's.

use super::Result;
use hipward_protocol::{EventBody, Failure, FailureCode, JobState};
use rusqlite::{Transaction, params};
use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};

/// Tries a job gets: one more after the runner died under it.
const MOST_ATTEMPTS: u32 = 2;

/// The events that one transaction adds.
#[derive(Default)]
pub(super) struct Log {
    /// What was added: the job and the sequence number.
    pub(super) added: Vec<(String, u64)>,
}

impl Log {
    /// Adds an event to a job's log, and changes its state with it.
    pub(super) fn add(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        body: &EventBody,
    ) -> Result<()> {
        let state = state_after(body).map(name).transpose()?;
        let seq: i64 = tx
            .prepare_cached(
                "update jobs set last_seq = last_seq + 1, state = coalesce(?2, state)
                 where id = ?1 returning last_seq",
            )?
            .query_row(params![job, state], |row| row.get(0))?;
        tx.prepare_cached(
            "insert into events (job, seq, attempt, at, body) values (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            job,
            seq,
            attempt,
            now(),
            serde_json::to_string(body)?
        ])?;
        self.added.push((job.to_owned(), seq.cast_unsigned()));
        Ok(())
    }

    /// Tells each queued job its position, where that is news. Only jobs that want the same device
    /// are ahead of each other.
    pub(super) fn announce_positions(&mut self, tx: &Transaction) -> Result<()> {
        let mut query = tx.prepare_cached(
            "select id, attempt, position,
                    (select count(*) from jobs ahead
                     where ahead.state = 'queued' and ahead.number < waiting.number
                       and (ahead.device is null or waiting.device is null or ahead.device = waiting.device))
             from jobs waiting where state = 'queued' order by number",
        )?;
        let waiting: Vec<(String, u32, i64, i64)> = query
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<std::result::Result<_, _>>()?;
        for (job, attempt, said, position) in waiting {
            if said != position {
                self.queue(tx, &job, attempt, position, None)?;
            }
        }
        Ok(())
    }

    fn queue(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        position: i64,
        reason: Option<&str>,
    ) -> Result<()> {
        tx.execute(
            "update jobs set position = ?2 where id = ?1",
            params![job, position],
        )?;
        let queued = EventBody::Queued {
            position: usize::try_from(position).unwrap_or(0),
            reason: reason.map(str::to_owned),
        };
        self.add(tx, job, attempt, &queued)
    }

    /// True if the job gets another try.
    pub(super) fn interrupt(
        &mut self,
        tx: &Transaction,
        job: &str,
        attempt: u32,
        reason: &str,
    ) -> Result<bool> {
        if attempt < MOST_ATTEMPTS {
            self.queue(tx, job, attempt, 0, Some(reason))?;
            return Ok(true);
        }
        let failed = EventBody::Failed(Failure {
            code: FailureCode::Interrupted,
            message: format!("It was tried {attempt} times, and each time {reason}."),
            help: "Submit it again. If it happens again, the job may be what stops the runner: \
                   look at the runner's own log."
                .to_owned(),
            traceback: None,
        });
        self.add(tx, job, attempt, &failed)?;
        Ok(false)
    }
}

/// The state that an event puts a job in, if it changes it.
fn state_after(body: &EventBody) -> Option<JobState> {
    match body {
        EventBody::Queued { .. } => Some(JobState::Queued),
        EventBody::Leased { .. } => Some(JobState::Running),
        EventBody::Done => Some(JobState::Done),
        EventBody::Failed(_) => Some(JobState::Failed),
        EventBody::Cancelled => Some(JobState::Cancelled),
        EventBody::Measured(_)
        | EventBody::VariantDone { .. }
        | EventBody::Log { .. }
        | EventBody::Verdict(_) => None,
    }
}

/// A state as it is stored: its name on the wire.
fn name(state: JobState) -> Result<String> {
    let quoted = serde_json::to_string(&state)?;
    Ok(quoted.trim_matches('"').to_owned())
}

/// RFC 3339, UTC, milliseconds.
pub(super) fn now() -> String {
    const FORMAT: &[BorrowedFormatItem] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    // These components exist for every time, so formatting them cannot fail.
    OffsetDateTime::now_utc().format(FORMAT).unwrap_or_default()
}
