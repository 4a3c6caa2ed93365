//! Stores a new job and its first event. A submission to a shared database takes as few statements as possible: each is a round trip.

use super::{
    NewJob, QueueLimits, Store, approval,
    error::{Result, StoreError},
    log::{self, Log},
    long_queue::Place,
    positions::Queued,
    sql::{Sql, values},
    turns, usage,
};
use crate::jobs::{
    host_facts::{vendor_name, version_with_dot},
    random_id,
};
use hipward_protocol::{EventBody, JobState, JobSummary};
use std::time::Duration;

impl Store {
    /// Queues a job, or stores it for approval, unless as many jobs as the limits permit are waiting already.
    pub(crate) fn submit(
        &self,
        job: &NewJob,
        limits: impl Into<QueueLimits>,
    ) -> Result<JobSummary> {
        let limits = limits.into();
        self.check_damage()?;
        self.change(|tx, log| {
            if job.needs_approval {
                approval::lock_code(tx, &job.code_sha256)?;
            }
            let waits = job.needs_approval && !approval::is_approved(tx, &job.code_sha256)?;
            let state = if waits {
                JobState::AwaitingApproval
            } else {
                JobState::Queued
            };
            self.check_limits(tx, job, &log::stored_name(&state)?, limits)?;
            insert(tx, log, job, state)
        })
    }

    /// Fails if the queue is full, or a quota of the job's owner is spent.
    fn check_limits(
        &self,
        tx: &dyn Sql,
        job: &NewJob,
        state: &str,
        limits: QueueLimits,
    ) -> Result<()> {
        let waiting = if limits.total > log::COUNTED {
            self.0.waiting.about(state, limits.total, || {
                tx.one("select count(*) from jobs where state = ?1", values![state])
            })?
        } else {
            tx.one(
                "select count(*) from (select 1 from jobs where state = ?1 limit ?2) waiting",
                values![state, limits.total],
            )?
        };
        if waiting >= limits.total {
            return Err(StoreError::QueueFull { waiting });
        }
        let Some(owner) = &job.owner else {
            return Ok(());
        };
        let waiting: usize = tx.one(
            "select count(*) from (select 1 from jobs where state = ?1 and owner = ?2 limit ?3) waiting",
            values![state, owner, limits.per_owner],
        )?;
        if waiting >= limits.per_owner {
            return Err(StoreError::OwnerQueueFull { waiting });
        }
        if let Some(limit) = limits.device_time_per_day
            && usage::today(tx, owner)? >= limit.as_secs_f64()
        {
            return Err(StoreError::DeviceTimeSpent {
                limit,
                retry_after: Duration::from_secs(usage::seconds_of_today_left(tx)?),
            });
        }
        Ok(())
    }
}

/// Stores a job in its first state, with its first event.
fn insert(tx: &dyn Sql, log: &mut Log, job: &NewJob, state: JobState) -> Result<JobSummary> {
    const FIRST: u64 = 1;
    let id = random_id::random_id()?;
    let variants = serde_json::to_string(&job.variants)?;
    let labels = (!job.labels.is_empty())
        .then(|| serde_json::to_string(&job.labels))
        .transpose()?;
    let require = (!job.require.is_empty())
        .then(|| serde_json::to_string(&job.require))
        .transpose()?;
    let created_at = log::now();
    let rank = turns::rank(job.priority);
    // A job that waits for approval gets its turn with it.
    let turn = match state {
        JobState::Queued => turns::next(tx, rank, job.owner.as_deref())?,
        _ => 0,
    };
    let number = tx.one(
        "insert into jobs (id, title, code, code_sha256, variants, device, owner, state, created_at, labels, rank, turn, last_seq,
             require, need_vendor, need_arch, need_memory, need_gpus, need_torch, need_rocm, need_labels)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
         returning number",
        values![
            &id,
            &job.title,
            &job.code,
            &job.code_sha256,
            &variants,
            &job.device,
            &job.owner,
            log::stored_name(&state)?,
            &created_at,
            &labels,
            rank,
            turn,
            FIRST,
            &require,
            job.require.vendor.map(vendor_name),
            &job.require.arch,
            job.require.memory_bytes,
            job.require.gpus,
            job.require.torch.as_deref().map(version_pattern),
            job.require.rocm.as_deref().map(version_pattern),
            label_pattern(&job.require.labels)
        ],
    )?;
    let position = match state {
        JobState::Queued => {
            let place = Place { rank, turn, number };
            let queued = Queued::new(place, job.device.clone());
            Some(queued.position(tx, Some(&log.long_queue))?)
        }
        _ => None,
    };
    let first = position.map_or(EventBody::AwaitingApproval, |position| EventBody::Queued {
        position,
        reason: None,
    });
    log.record(tx, &id, 0, FIRST, &first)?;
    // A device can lease the job only after this transaction, so the returned summary never is `running`.
    Ok(JobSummary {
        id,
        title: job.title.clone(),
        state,
        attempt: 0,
        created_at,
        variants: job.variants.clone(),
        labels: job.labels.clone(),
        requested_device: job.device.clone(),
        require: (!job.require.is_empty()).then(|| job.require.clone()),
        code_sha256: job.code_sha256.clone(),
        last_seq: FIRST,
        position,
        failure: None,
    })
}

/// The pattern of the versions that begin with this one.
fn version_pattern(version: &str) -> String {
    format!("{}%", version_with_dot(version))
}

/// The pattern of the sorted labels of hosts that have all of these.
fn label_pattern(labels: &[String]) -> Option<String> {
    let mut labels = labels.to_vec();
    labels.sort();
    labels.dedup();
    let pattern: String = labels.iter().map(|label| format!(",{label},%")).collect();
    (!labels.is_empty()).then(|| format!("%{pattern}"))
}
