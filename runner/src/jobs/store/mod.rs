//! The durable store: jobs and their event logs in a database, and notifications of new events. The
//! event log is authoritative; a job's row is derived from its events.

mod approval;
mod deliveries;
mod error;
mod fleet;
mod hosts;
mod leases;
mod listing;
mod log;
mod long_queue;
mod positions;
mod postgres;
mod queries;
mod removal;
mod signals;
mod sql;
mod sqlite;
mod submission;
#[cfg(test)]
mod tests;
mod tokens;
mod turns;
mod usage;
mod waiting_count;

pub(crate) use approval::{ApprovalOutcome, Pending};
pub(crate) use deliveries::Delivery;
pub(crate) use error::StoreError;
pub(crate) use fleet::RunningJob;
pub(crate) use hosts::RecentReports;
pub(crate) use leases::LeaseStates;
pub(crate) use listing::JobFilter;
pub(crate) use removal::{RemoveOutcome, Retention};
pub(crate) use signals::Newest;
pub(crate) use sqlite::{back_up, lock_data_folder, restore};
pub(crate) use tokens::{Role, cookie_value};

use self::{
    error::Result,
    hosts::Reports,
    log::{Log, now, seconds_since},
    long_queue::LongQueue,
    queries::{parse_name, running_jobs},
    signals::Signals,
    sql::{Database, Sql, Value, values},
    waiting_count::WaitingCount,
};
use super::{
    host_facts::{vendor_name, version_with_dot},
    lease_messages::FreeDevice,
    work_source::LEASE_TIME,
};
#[cfg(test)]
use hipward_protocol::Device;
use hipward_protocol::{EventBody, JobState, Priority, Requirements, VariantId};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// The store. Cheap to clone. Calls block briefly, so async code uses [`Store::with`].
#[derive(Clone, Debug)]
pub(crate) struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The database.
    database: Box<dyn Database>,
    /// The damage that a check of the database has found.
    damage: OnceLock<String>,
    /// Notifications of changes.
    signals: Arc<Signals>,
    /// Counters for monitoring.
    counters: Mutex<Counters>,
    /// The last reports of hosts and other servers.
    reports: Mutex<Reports>,
    /// The addresses that are notified when a job ends.
    webhooks: OnceLock<Arc<[String]>>,
    /// Maximum number of running jobs of one token, other than the operator's.
    running_limit: OnceLock<usize>,
    /// The numbers of waiting jobs, where the limit is high.
    waiting: WaitingCount,
    /// What is known about the length of the queue.
    long_queue: Arc<LongQueue>,
    /// The time for which a lease is valid after its renewal, if it is not [`LEASE_TIME`].
    lease_time: OnceLock<Duration>,
}

/// Maximum numbers of queued jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    /// Of all senders.
    pub(crate) total: usize,
    /// Of one token, other than the operator's.
    pub(crate) per_owner: usize,
    /// The time for which the jobs of one token, other than the operator's, may run on devices on a day (UTC), after which no
    /// more are accepted.
    pub(crate) device_time_per_day: Option<Duration>,
}

impl From<usize> for QueueLimits {
    /// The same limit for all senders and for each.
    fn from(limit: usize) -> Self {
        QueueLimits {
            total: limit,
            per_owner: limit,
            device_time_per_day: None,
        }
    }
}

/// Counters since the store was opened.
#[derive(Clone, Debug, Default)]
struct Counters {
    /// Failed jobs by the code of the failure.
    failures: BTreeMap<String, u64>,
    /// Jobs that were leased for the first time.
    started: u64,
    /// The sum of the times for which these jobs had waited, seconds.
    waited_seconds: f64,
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
    /// The variants, `eager` among them.
    pub(crate) variants: Vec<VariantId>,
    /// The device it must run on, if it names one.
    pub(crate) device: Option<String>,
    /// Names that group it with others.
    pub(crate) labels: Vec<String>,
    /// The name of the token that submitted it. None for the operator's own token.
    pub(crate) owner: Option<String>,
    /// Whether its code must be approved before it runs, unless it was approved before.
    pub(crate) needs_approval: bool,
    /// What it requires of its host and device.
    pub(crate) require: Requirements,
    /// Its priority.
    pub(crate) priority: Priority,
}

/// The right to run one attempt of a job and to write to its event log meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    /// The job.
    pub(crate) job: String,
    /// The attempt.
    pub(crate) attempt: u32,
    /// The snippet.
    pub(crate) code: String,
    /// SHA-256 of the snippet.
    pub(crate) code_sha256: String,
    /// The variants.
    pub(crate) variants: Vec<VariantId>,
}

/// The result of cancelling a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelOutcome {
    /// The job is now cancelled.
    Cancelled,
    /// The job had ended before.
    AlreadyEnded,
    /// No job has this id.
    NotFound,
}

/// The result of recovering jobs that were running when the last server ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Queued again.
    pub(crate) queued: usize,
    /// Failed, because they had been interrupted too often.
    pub(crate) failed: usize,
}

impl Store {
    /// A store on a database, which may also send the signals of other servers' changes.
    fn on(database: Box<dyn Database>, signals: Arc<Signals>) -> Self {
        Store(Arc::new(Inner {
            database,
            damage: OnceLock::new(),
            signals,
            counters: Mutex::default(),
            reports: Mutex::default(),
            webhooks: OnceLock::new(),
            running_limit: OnceLock::new(),
            lease_time: OnceLock::new(),
            waiting: WaitingCount::default(),
            long_queue: Arc::default(),
        }))
    }

    /// Runs a store call on a thread where blocking is allowed.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> T {
        let store = self.clone();
        match tokio::task::spawn_blocking(move || call(&store)).await {
            Ok(value) => value,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, including the task that waits here.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Leases the next job for this device, for tests.
    #[cfg(test)]
    pub(crate) fn claim(&self, device: &Device, unassigned: bool) -> Result<Option<Lease>> {
        self.claim_for(&tests::free(device, unassigned), None, None)
    }

    /// Leases the next job for a device: one that names it, or if `free.unassigned` is set one that names no device, whose
    /// requirements the host meets. No job is leased while the host is drained, during maintenance, and to an owner with as many
    /// running jobs as the limit permits. The lease expires after `valid` unless it is renewed, or ends with this server.
    /// `holder` is the name of the token whose host gets it.
    pub(crate) fn claim_for(
        &self,
        free: &FreeDevice,
        valid: Option<Duration>,
        holder: Option<&str>,
    ) -> Result<Option<Lease>> {
        self.change(|tx, log| {
            let (condition, mut params) = self.claimable(free);
            if self.0.running_limit.get().is_some() {
                // Otherwise two claims at the same time could exceed the limit.
                tx.lock("running jobs")?;
            }
            let next = params.len() + 1;
            params.extend_from_slice(values![
                valid.map(|valid| valid.as_secs_f64()),
                holder,
                &free.host
            ]);
            let dialect = tx.dialect();
            let claimed = tx.first(
                &format!(
                    "update jobs set attempt = attempt + 1, last_seq = last_seq + 1, state = 'running', received = 0,
                         lease_until = {now} + ?{next}, holder = ?{holder}, leased_at = {now}, on_host = ?{host}, on_device = ?1
                     where number = (select number from jobs where {condition}
                                     order by rank, turn, number limit 1{skip_locked})
                     returning id, attempt, code, code_sha256, variants, last_seq, created_at",
                    now = dialect.now,
                    holder = next + 1,
                    host = next + 2,
                    skip_locked = dialect.skip_locked,
                ),
                &params,
            )?;
            let Some(row) = claimed else {
                return Ok(None);
            };
            let lease = Lease {
                job: row.get(0)?,
                attempt: row.get(1)?,
                code: row.get(2)?,
                code_sha256: row.get(3)?,
                variants: serde_json::from_str(&row.get::<String>(4)?)?,
            };
            let leased = EventBody::Leased {
                device: free.device.clone(),
            };
            log.record(tx, &lease.job, lease.attempt, row.get(5)?, &leased)?;
            if lease.attempt == 1 {
                log.waited.extend(seconds_since(&row.get::<String>(6)?));
            }
            Ok(Some(lease))
        })
    }

    /// Limits the number of running jobs of one token, other than the operator's. The first call has effect.
    pub(crate) fn limit_running(&self, limit: usize) {
        let _ = self.0.running_limit.set(limit);
    }

    /// Sets the time for which a lease is valid after its renewal, where leases expire. The first call has effect.
    pub(crate) fn set_lease_time(&self, valid: Duration) {
        let _ = self.0.lease_time.set(valid);
    }

    /// The time for which a lease is valid after its renewal, where leases expire.
    pub(crate) fn lease_time(&self) -> Duration {
        self.0.lease_time.get().copied().unwrap_or(LEASE_TIME)
    }

    /// The condition of a job that can be leased to a device, with its parameters. `host_facts::meets` has the same rule.
    fn claimable(&self, free: &FreeDevice) -> (String, Vec<Value>) {
        let mut labels = free.facts.labels.clone();
        labels.sort();
        let labels: String = labels.iter().map(|label| format!(",{label},")).collect();
        let params = values![
            &free.device.id,
            free.unassigned,
            vendor_name(free.device.vendor),
            &free.device.arch,
            free.device.memory_bytes,
            free.facts.gpus,
            free.facts.torch.as_deref().map(version_with_dot),
            free.facts.rocm.as_deref().map(version_with_dot),
            labels,
            &free.host,
        ];
        let mut condition = "state = 'queued' and (device = ?1 or (device is null and (?2 or need_vendor = 'cpu')))
             and (need_vendor is null or need_vendor = ?3) and (need_arch is null or need_arch = ?4)
             and (need_memory is null or need_memory <= ?5) and (need_gpus is null or need_gpus <= ?6)
             and (need_torch is null or ?7 like need_torch) and (need_rocm is null or ?8 like need_rocm)
             and (need_labels is null or ?9 like need_labels)
             and not exists (select 1 from drains where host = ?10)
             and not exists (select 1 from meta where key = 'maintenance')"
            .to_owned();
        if let Some(limit) = self.0.running_limit.get() {
            condition.push_str(&format!(
                " and (owner is null or {limit} > (select count(*) from jobs busy
                   where busy.state = 'running' and busy.owner = jobs.owner))"
            ));
        }
        (condition, params.to_vec())
    }

    /// Adds events to a leased job, for tests. Fails with [`StoreError::Fenced`] once the lease has ended.
    #[cfg(test)]
    pub(crate) fn append(&self, lease: &Lease, bodies: &[EventBody]) -> Result<()> {
        self.change(|tx, log| {
            current(tx, lease)?;
            leases::append(tx, log, lease, bodies)
        })
    }

    /// Cancels a job in any state.
    pub(crate) fn cancel(&self, id: &str) -> Result<CancelOutcome> {
        self.change(|tx, log| {
            let found = tx.first(
                &format!(
                    "select state, attempt from jobs where id = ?1{}",
                    tx.dialect().for_update
                ),
                values![id],
            )?;
            let Some(row) = found else {
                return Ok(CancelOutcome::NotFound);
            };
            if parse_name::<JobState>(&row.get::<String>(0)?)?.is_final() {
                return Ok(CancelOutcome::AlreadyEnded);
            }
            let attempt = row.get(1)?;
            log.add(tx, id, attempt, &EventBody::Cancelled)?;
            Ok(CancelOutcome::Cancelled)
        })
    }

    /// Records that the code of a leased job starts.
    pub(crate) fn mark_begun(&self, lease: &Lease) -> Result<()> {
        self.change(|tx, _| {
            let changed = tx.execute(
                "update jobs set begun = attempt where id = ?1 and attempt = ?2 and state = 'running'",
                values![&lease.job, lease.attempt],
            )?;
            if changed == 0 {
                return Err(StoreError::Fenced);
            }
            Ok(())
        })
    }

    /// Ends a lease and queues its job again, because its worker was dead or the server stops. This does not count as a crash.
    pub(crate) fn requeue(&self, lease: &Lease, reason: &str) -> Result<()> {
        self.change(|tx, log| {
            current(tx, lease)?;
            log.queue(tx, &lease.job, lease.attempt, Some(reason))
                .map(drop)
        })
    }

    /// Requeues or fails jobs that were running when the last server ended.
    pub(crate) fn recover(&self) -> Result<Recovered> {
        self.recover_all_but(&[], "the runner was restarted while this job ran")
    }

    /// Requeues or fails jobs that are stored as running, except those in `running`.
    pub(crate) fn recover_all_but(&self, running: &[String], reason: &str) -> Result<Recovered> {
        self.change(|tx, log| {
            let mut recovered = Recovered::default();
            for (job, attempt) in running_jobs(tx)? {
                if running.contains(&job) {
                    continue;
                }
                if log.interrupt(tx, &job, attempt, reason)? {
                    recovered.queued += 1;
                } else {
                    recovered.failed += 1;
                }
            }
            Ok(recovered)
        })
    }

    /// Checks that the store can be written, and that no damage was found.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_damage()?;
        self.change(|tx, _| {
            tx.execute(
                "insert into meta values ('checked', ?1) on conflict (key) do update set value = excluded.value",
                values![now()],
            )?;
            Ok(())
        })
    }

    /// Notifies of new events. Subscribe first, then read, and nothing is missed.
    pub(crate) fn watch(&self, id: &str) -> watch::Receiver<Newest> {
        self.0.signals.watch(id)
    }

    /// Notifies of changes of the queue, and thereby of positions.
    pub(crate) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.0.signals.watch_queue()
    }

    /// Notifies of changes after which a claim may succeed. Fewer than those of the queue: every host that waits reads the database.
    pub(crate) fn watch_work(&self) -> watch::Receiver<u64> {
        self.0.signals.watch_work()
    }

    /// Reads the whole database and records damage, after which no job is accepted. Takes seconds per GiB.
    pub(crate) fn verify(&self) -> Result<()> {
        let found = self.0.database.damage()?;
        if let Some(damage) = found {
            self.0.damage.get_or_init(|| damage);
        }
        self.check_damage()
    }

    fn check_damage(&self) -> Result<()> {
        match self.0.damage.get() {
            Some(damage) => Err(StoreError::damaged(damage.clone())),
            None => Ok(()),
        }
    }

    /// Runs one transaction that reads.
    fn read<T>(&self, act: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        let (mut act, mut value) = (Some(act), None);
        self.0.database.read(&mut |tx| {
            if let Some(act) = act.take() {
                value = Some(act(tx)?);
            }
            Ok(())
        })?;
        value.ok_or(StoreError::UnexpectedValue)
    }

    /// Runs one transaction that adds events. Watchers are notified once it is committed.
    fn change<T>(&self, act: impl FnOnce(&dyn Sql, &mut Log) -> Result<T>) -> Result<T> {
        let (mut act, mut value) = (Some(act), None);
        let mut log = Log {
            webhooks: self.0.webhooks.get().cloned(),
            long_queue: self.0.long_queue.clone(),
            limits_running: self.0.running_limit.get().is_some(),
            ..Log::default()
        };
        self.0.database.write(&mut |tx| {
            if let Some(act) = act.take() {
                value = Some(act(tx, &mut log)?);
            }
            Ok(())
        })?;
        self.0.database.announce(&log);
        if !log.failures.is_empty() || !log.waited.is_empty() {
            let mut counters = lock(&self.0.counters);
            for code in &log.failures {
                *counters.failures.entry(code.clone()).or_default() += 1;
            }
            for seconds in &log.waited {
                counters.started += 1;
                counters.waited_seconds += seconds;
            }
        }
        self.0.signals.send(&log);
        value.ok_or(StoreError::UnexpectedValue)
    }
}

/// Fails if the lease has ended.
fn current(tx: &dyn Sql, lease: &Lease) -> Result<()> {
    let is_current = tx.exists(
        &format!(
            "select 1 from jobs where id = ?1 and attempt = ?2 and state = 'running'{}",
            tx.dialect().for_update
        ),
        values![&lease.job, lease.attempt],
    )?;
    is_current.then_some(()).ok_or(StoreError::Fenced)
}

/// Ignores poisoning: changes are transactions, so a panic leaves the data consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
