//! The durable store: jobs and their event logs in SQLite, and the signal that something was
//! added. The log is the truth; a job's row is what its events amount to.

use super::{id, schema};
use hipward_protocol::{Device, Event, EventBody, FailureCode, JobState, JobSummary, Variant};
use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, TransactionBehavior, named_params, params,
};
use serde::de::DeserializeOwned;
use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};
use tokio::sync::watch;

/// Tries a job gets: one more after the runner died under it.
const MOST_ATTEMPTS: u32 = 2;

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Another server has it.
    #[error(
        "another Hipward serves the data folder {}; stop it, or choose another folder with --data",
        path.display()
    )]
    InUse {
        /// The data folder.
        path: PathBuf,
    },
    /// It was written by another version.
    #[error(
        "the data folder holds jobs of schema {version}, which this version cannot read; choose \
         another folder with --data"
    )]
    Schema {
        /// The version found.
        version: String,
    },
    /// Someone else has the job now, or it has ended.
    #[error("the job is no longer this attempt's to write to")]
    Fenced,
    /// A file could not be used.
    #[error("cannot use {}: {source}; choose another folder with --data", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database reports an error.
    #[error("the job database reports: {0}")]
    Database(#[from] rusqlite::Error),
    /// A stored value cannot be read.
    #[error("the job database holds something unreadable: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

type Result<T> = std::result::Result<T, StoreError>;

/// The store. Cheap to clone; calls block briefly, so async code goes through [`Store::with`].
#[derive(Clone, Debug)]
pub(crate) struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Mutex<Connection>,
    /// Who wants to know about which job: the newest sequence number.
    watchers: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// Held for as long as the server lives; the system releases it however it dies.
    _lock: File,
}

/// A job to be stored.
#[derive(Clone, Debug)]
pub(crate) struct NewJob {
    /// The snippet.
    pub(crate) code: String,
    /// SHA-256 of the snippet.
    pub(crate) code_sha256: String,
    /// Its title.
    pub(crate) title: Option<String>,
    /// The rungs, `eager` among them.
    pub(crate) variants: Vec<Variant>,
    /// The device it must run on, if it must.
    pub(crate) device: Option<String>,
}

/// The right to run a job once and to write to its log meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    /// The job.
    pub(crate) job: String,
    /// The try.
    pub(crate) attempt: u32,
    /// The snippet.
    pub(crate) code: String,
    /// SHA-256 of the snippet.
    pub(crate) code_sha256: String,
    /// The rungs.
    pub(crate) variants: Vec<Variant>,
}

/// What asking to cancel a job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// It is cancelled now.
    Now,
    /// It had ended before.
    HadEnded,
    /// There is no such job.
    Unknown,
}

/// What became of jobs that ran when the last server died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Queued again.
    pub(crate) queued: usize,
    /// Ended, as they had been interrupted too often.
    pub(crate) failed: usize,
}

impl Store {
    /// Opens the store in a data folder, for this process alone.
    pub(crate) fn open(data: &Path) -> Result<Self> {
        let file = |path: PathBuf| move |source| StoreError::File { path, source };
        fs::create_dir_all(data).map_err(file(data.to_owned()))?;
        let path = data.join("lock");
        let lock = File::create(&path).map_err(file(path.clone()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    path: data.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::File { path, source }),
        }
        let connection = Connection::open(data.join("jobs.sqlite"))?;
        schema::prepare(&connection)?;
        Ok(Store(Arc::new(Inner {
            connection: Mutex::new(connection),
            watchers: Mutex::default(),
            _lock: lock,
        })))
    }

    /// Runs a store call where blocking is allowed.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> T {
        let store = self.clone();
        match tokio::task::spawn_blocking(move || call(&store)).await {
            Ok(value) => value,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, and with it whoever waits here.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Queues a job.
    pub(crate) fn submit(&self, job: &NewJob) -> Result<JobSummary> {
        let id = id::unguessable()?;
        let variants = serde_json::to_string(&job.variants)?;
        self.change(|tx, log| {
            tx.execute(
                "insert into jobs (id, title, code, code_sha256, variants, device, state, position, created_at)
                 values (:id, :title, :code, :sha, :variants, :device, 'queued', -1, :now)",
                named_params! {
                    ":id": id, ":title": job.title, ":code": job.code, ":sha": job.code_sha256,
                    ":variants": variants, ":device": job.device, ":now": now(),
                },
            )?;
            log.announce_positions(tx)
        })?;
        self.summary(&id)?.ok_or(StoreError::Fenced)
    }

    /// Leases the next job for this device: one that asked for it, or with `unassigned` one that
    /// asked for none.
    pub(crate) fn claim(&self, device: &Device, unassigned: bool) -> Result<Option<Lease>> {
        self.change(|tx, log| {
            let claimed = tx
                .query_row(
                    "update jobs set attempt = attempt + 1
                     where number = (select number from jobs
                                     where state = 'queued' and (device = ?1 or (device is null and ?2))
                                     order by number limit 1)
                     returning id, attempt, code, code_sha256, variants",
                    params![device.id, unassigned],
                    |row| {
                        Ok((
                            row.get(0)?,
                            row.get(1)?,
                            row.get(2)?,
                            row.get(3)?,
                            row.get::<_, String>(4)?,
                        ))
                    },
                )
                .optional()?;
            let Some((job, attempt, code, code_sha256, variants)) = claimed else {
                return Ok(None);
            };
            let lease = Lease {
                job,
                attempt,
                code,
                code_sha256,
                variants: serde_json::from_str(&variants)?,
            };
            let device = device.clone();
            log.add(tx, &lease.job, attempt, &EventBody::Leased { device })?;
            log.announce_positions(tx)?;
            Ok(Some(lease))
        })
    }

    /// Adds events to a leased job. Refused once the lease is over, whoever ended it.
    pub(crate) fn append(&self, lease: &Lease, bodies: &[EventBody]) -> Result<()> {
        self.change(|tx, log| {
            for body in bodies {
                let current = tx
                    .query_row(
                        "select 1 from jobs where id = ?1 and attempt = ?2 and state = 'running'",
                        params![lease.job, lease.attempt],
                        |_| Ok(()),
                    )
                    .optional()?;
                current.ok_or(StoreError::Fenced)?;
                log.add(tx, &lease.job, lease.attempt, body)?;
            }
            Ok(())
        })
    }

    /// Cancels a job wherever it stands.
    pub(crate) fn cancel(&self, id: &str) -> Result<Cancelled> {
        self.change(|tx, log| {
            let found: Option<(String, u32)> = tx
                .query_row(
                    "select state, attempt from jobs where id = ?1",
                    [id],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()?;
            let Some((state, attempt)) = found else {
                return Ok(Cancelled::Unknown);
            };
            if word::<JobState>(&state)?.is_final() {
                return Ok(Cancelled::HadEnded);
            }
            log.add(tx, id, attempt, &EventBody::Cancelled)?;
            log.announce_positions(tx)?;
            Ok(Cancelled::Now)
        })
    }

    /// Ends a lease whose run was cut short by the runner itself: queues the job again, or ends it
    /// if that happened before.
    pub(crate) fn interrupt(&self, lease: &Lease, reason: &str) -> Result<()> {
        self.change(|tx, log| {
            let attempt = tx
                .query_row(
                    "select attempt from jobs where id = ?1 and attempt = ?2 and state = 'running'",
                    params![lease.job, lease.attempt],
                    |row| row.get(0),
                )
                .optional()?
                .ok_or(StoreError::Fenced)?;
            log.interrupt(tx, &lease.job, attempt, reason)?;
            log.announce_positions(tx)
        })
    }

    /// Deals with jobs that ran when the last server died.
    pub(crate) fn recover(&self) -> Result<Recovered> {
        self.change(|tx, log| {
            let mut recovered = Recovered::default();
            let mut query =
                tx.prepare("select id, attempt from jobs where state = 'running' order by number")?;
            let running: Vec<(String, u32)> = query
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<std::result::Result<_, _>>()?;
            for (job, attempt) in running {
                let reason = "the runner was restarted while this job ran";
                if log.interrupt(tx, &job, attempt, reason)? {
                    recovered.queued += 1;
                } else {
                    recovered.failed += 1;
                }
            }
            log.announce_positions(tx)?;
            Ok(recovered)
        })
    }

    /// A job without its events.
    pub(crate) fn summary(&self, id: &str) -> Result<Option<JobSummary>> {
        let summary = self
            .connection()
            .prepare_cached(
                "select id, title, state, attempt, created_at, variants, code_sha256, last_seq
                 from jobs where id = ?1",
            )?
            .query_row([id], summary_columns)
            .optional()?;
        let Some((mut summary, state, variants)) = summary else {
            return Ok(None);
        };
        summary.state = word(&state)?;
        summary.variants = serde_json::from_str(&variants)?;
        Ok(Some(summary))
    }

    /// A job's snippet.
    pub(crate) fn code(&self, id: &str) -> Result<Option<String>> {
        Ok(self
            .connection()
            .query_row("select code from jobs where id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()?)
    }

    /// Up to `limit` events that follow `after`, in order.
    pub(crate) fn events_after(&self, id: &str, after: u64, limit: usize) -> Result<Vec<Event>> {
        let connection = self.connection();
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

    /// Jobs by state.
    pub(crate) fn counts(&self) -> Result<Vec<(JobState, u64)>> {
        let connection = self.connection();
        let mut query =
            connection.prepare_cached("select state, count(*) from jobs group by state")?;
        let rows = query.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        rows.map(|row| {
            let (state, count) = row?;
            Ok((word(&state)?, count.cast_unsigned()))
        })
        .collect()
    }

    /// A signal that says "there is something after this sequence number". Subscribe first, then
    /// read, and nothing is missed.
    pub(crate) fn watch(&self, id: &str) -> watch::Receiver<u64> {
        let mut watchers = lock(&self.0.watchers);
        watchers.retain(|_, sender| sender.receiver_count() > 0);
        let sender = watchers
            .entry(id.to_owned())
            .or_insert_with(|| watch::Sender::new(0));
        sender.subscribe()
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0.connection)
    }

    /// One transaction that adds events; watchers hear of them once they are stored.
    fn change<T>(&self, act: impl FnOnce(&Transaction, &mut Log) -> Result<T>) -> Result<T> {
        let mut log = Log::default();
        let value = {
            let mut connection = self.connection();
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = act(&tx, &mut log)?;
            tx.commit()?;
            value
        };
        let watchers = lock(&self.0.watchers);
        for (job, seq) in log.added {
            if let Some(sender) = watchers.get(&job) {
                sender.send_replace(seq);
            }
        }
        Ok(value)
    }
}

/// The one place that writes events, and with them states.
#[derive(Default)]
struct Log {
    added: Vec<(String, u64)>,
}

impl Log {
    fn add(&mut self, tx: &Transaction, job: &str, attempt: u32, body: &EventBody) -> Result<()> {
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
    fn announce_positions(&mut self, tx: &Transaction) -> Result<()> {
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
    fn interrupt(
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
        let failed = EventBody::Failed {
            code: FailureCode::Interrupted,
            message: format!("It was tried {attempt} times, and each time {reason}."),
            help: "Submit it again. If it happens again, the job may be what stops the runner: \
                   look at the runner's own log."
                .to_owned(),
            traceback: None,
        };
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
        EventBody::Failed { .. } => Some(JobState::Failed),
        EventBody::Cancelled => Some(JobState::Cancelled),
        EventBody::Measured(_)
        | EventBody::VariantDone { .. }
        | EventBody::Log { .. }
        | EventBody::Verdict(_) => None,
    }
}

/// The summary but for the two columns that need parsing.
fn summary_columns(row: &Row) -> rusqlite::Result<(JobSummary, String, String)> {
    let summary = JobSummary {
        id: row.get(0)?,
        title: row.get(1)?,
        state: JobState::Queued,
        attempt: row.get(3)?,
        created_at: row.get(4)?,
        variants: Vec::new(),
        code_sha256: row.get(6)?,
        last_seq: row.get::<_, i64>(7)?.cast_unsigned(),
    };
    Ok((summary, row.get(2)?, row.get(5)?))
}

/// A state as it is stored: its name on the wire.
fn name(state: JobState) -> Result<String> {
    let quoted = serde_json::to_string(&state)?;
    Ok(quoted.trim_matches('"').to_owned())
}

fn word<T: DeserializeOwned>(name: &str) -> Result<T> {
    Ok(serde_json::from_value(name.into())?)
}

/// RFC 3339, UTC, milliseconds.
fn now() -> String {
    const FORMAT: &[BorrowedFormatItem] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    // These components exist for every time, so formatting them cannot fail.
    OffsetDateTime::now_utc().format(FORMAT).unwrap_or_default()
}

/// A panic while the lock was held has lost nothing: changes are transactions.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::{JobView, LogStream, Vendor};
    use tempfile::TempDir;

    fn cpu() -> Device {
        Device {
            id: "cpu".to_owned(),
            name: "A processor".to_owned(),
            vendor: Vendor::Cpu,
            arch: "x86_64".to_owned(),
            memory_bytes: 1,
            busy_with: None,
        }
    }

    fn job() -> NewJob {
        NewJob {
            code: "x = 1".to_owned(),
            code_sha256: "00".to_owned(),
            title: None,
            variants: vec![Variant::EAGER],
            device: None,
        }
    }

    fn remark(text: &str) -> EventBody {
        EventBody::Log {
            stream: LogStream::Runner,
            text: text.to_owned(),
        }
    }

    fn open() -> (TempDir, Store) {
        let folder = TempDir::new().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("an empty folder opens");
        (folder, store)
    }

    fn view(store: &Store, id: &str) -> JobView {
        let events = store.events_after(id, 0, 1000).expect("readable");
        let expected: Vec<u64> = (1..=events.len() as u64).collect();
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, expected, "sequence numbers have no gaps");
        JobView::from_events(&events)
    }

    #[test]
    fn the_queue_is_first_come_first_served_and_positions_are_told() {
        let (_folder, store) = open();
        let ids: Vec<String> = (0..3)
            .map(|_| store.submit(&job()).expect("queued").id)
            .collect();
        assert_eq!(view(&store, &ids[2]).position, 2);

        let lease = store
            .claim(&cpu(), true)
            .expect("works")
            .expect("a job waits");
        assert_eq!(lease.job, ids[0]);
        assert_eq!(view(&store, &ids[2]).position, 1);

        assert_eq!(store.cancel(&ids[1]).expect("works"), Cancelled::Now);
        assert_eq!(view(&store, &ids[2]).position, 0);
    }

    #[test]
    fn a_job_for_another_device_is_neither_claimed_nor_in_the_way() {
        let (_folder, store) = open();
        let for_gpu = NewJob {
            device: Some("cuda:0".to_owned()),
            ..job()
        };
        store.submit(&for_gpu).expect("queued");
        assert!(store.claim(&cpu(), true).expect("works").is_none());
        let for_any = store.submit(&job()).expect("queued").id;
        assert!(store.claim(&cpu(), false).expect("works").is_none());
        let lease = store.claim(&cpu(), true).expect("works");
        assert_eq!(lease.map(|lease| lease.job), Some(for_any));
        let for_cpu = NewJob {
            device: Some("cpu".to_owned()),
            ..job()
        };
        let id = store.submit(&for_cpu).expect("queued").id;
        assert_eq!(view(&store, &id).position, 0);
    }

    #[test]
    fn only_the_current_attempt_may_write_and_nothing_follows_the_end() {
        let (_folder, store) = open();
        store.submit(&job()).expect("queued");
        let first = store
            .claim(&cpu(), true)
            .expect("works")
            .expect("a job waits");
        store
            .interrupt(&first, "the runner was stopped")
            .expect("works");
        let second = store
            .claim(&cpu(), true)
            .expect("works")
            .expect("it waits again");
        assert_eq!(second.attempt, 2);

        let stale = store.append(&first, &[remark("late")]);
        assert!(matches!(stale, Err(StoreError::Fenced)), "{stale:?}");
        store
            .append(&second, &[EventBody::Done])
            .expect("is current");
        let after_end = store.append(&second, &[remark("late")]);
        assert!(
            matches!(after_end, Err(StoreError::Fenced)),
            "{after_end:?}"
        );
        assert_eq!(view(&store, &second.job).state, JobState::Done);
    }

    #[test]
    fn a_batch_that_passes_the_end_is_refused_whole() {
        let (_folder, store) = open();
        store.submit(&job()).expect("queued");
        let lease = store
            .claim(&cpu(), true)
            .expect("works")
            .expect("a job waits");
        let result = store.append(&lease, &[remark("a"), EventBody::Done, remark("b")]);
        assert!(matches!(result, Err(StoreError::Fenced)), "{result:?}");
        assert_eq!(view(&store, &lease.job).state, JobState::Running);
    }

    #[test]
    fn a_cancelled_job_can_be_cancelled_again_and_its_worker_is_fenced_off() {
        let (_folder, store) = open();
        let id = store.submit(&job()).expect("queued").id;
        let lease = store
            .claim(&cpu(), true)
            .expect("works")
            .expect("a job waits");
        assert_eq!(store.cancel(&id).expect("works"), Cancelled::Now);
        assert_eq!(store.cancel(&id).expect("works"), Cancelled::HadEnded);
        assert_eq!(store.cancel("nobody").expect("works"), Cancelled::Unknown);
        let late = store.append(&lease, &[EventBody::Done]);
        assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
        assert_eq!(view(&store, &id).state, JobState::Cancelled);
    }

    #[test]
    fn a_job_that_dies_with_the_server_twice_fails_and_waiting_ones_stay() {
        let (folder, store) = open();
        let dying = store.submit(&job()).expect("queued").id;
        let waiting = store.submit(&job()).expect("queued").id;
        let mut store = Some(store);
        for attempt in 1..=2 {
            let open = store.take().expect("open");
            let lease = open.claim(&cpu(), true).expect("works").expect("waits");
            assert_eq!(
                (lease.job.as_str(), lease.attempt),
                (dying.as_str(), attempt)
            );
            drop(open);
            let reopened = Store::open(folder.path()).expect("the lock is free again");
            let recovered = reopened.recover().expect("works");
            assert_eq!(recovered.queued, usize::from(attempt == 1));
            assert_eq!(recovered.failed, usize::from(attempt == 2));
            store = Some(reopened);
        }
        let store = store.expect("open");
        let failed = view(&store, &dying);
        assert_eq!(failed.state, JobState::Failed);
        assert_eq!(failed.failure.map(|f| f.0), Some(FailureCode::Interrupted));
        let next = store.claim(&cpu(), true).expect("works").expect("waits");
        assert_eq!(next.job, waiting);
    }

    #[test]
    fn a_data_folder_has_one_server() {
        let (folder, _store) = open();
        let second = Store::open(folder.path());
        assert!(
            matches!(second, Err(StoreError::InUse { .. })),
            "{second:?}"
        );
    }

    #[tokio::test]
    async fn watchers_hear_of_events_once_they_can_be_read() {
        let (_folder, store) = open();
        let id = store.submit(&job()).expect("queued").id;
        let mut signal = store.watch(&id);
        store
            .claim(&cpu(), true)
            .expect("works")
            .expect("a job waits");
        signal.changed().await.expect("the store lives");
        let seq = *signal.borrow();
        let events = store.events_after(&id, seq - 1, 10).expect("readable");
        assert!(matches!(events[0].body, EventBody::Leased { .. }));
    }
}
