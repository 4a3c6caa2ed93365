//! Approval of code: jobs that wait until an operator has seen their code, and the hashes of approved code.

use super::{
    Store,
    error::Result,
    log::{Log, now, stored_name},
    queries::summary,
};
use hipward_protocol::{EventBody, Failure, FailureCode, JobState, PendingJob};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// The result of approving or rejecting a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalOutcome {
    /// The decision is stored.
    Decided,
    /// The job does not wait for approval.
    NotWaiting,
    /// No job has this id.
    NotFound,
}

/// A job that waits for approval, with its code.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The job.
    pub(crate) job: PendingJob,
    /// Its code.
    pub(crate) code: String,
    /// The code of the job [`PendingJob::last_approved`].
    pub(crate) approved_code: Option<String>,
}

impl Store {
    /// Approves the code of a job. It is queued, and so is every other job with the same code. `by` is the name of the
    /// operator.
    pub(crate) fn approve(&self, id: &str, by: Option<&str>) -> Result<ApprovalOutcome> {
        self.decide(id, |tx, log, _| {
            let hash: String =
                tx.query_row("select code_sha256 from jobs where id = ?1", [id], |row| {
                    row.get(0)
                })?;
            tx.execute(
                "insert into approvals (code_sha256, approved_at, approved_by) values (?1, ?2, ?3) on conflict do nothing",
                params![hash, now(), by],
            )?;
            let waiting: Vec<(String, u32)> = tx
                .prepare(
                    "select id, attempt from jobs where code_sha256 = ?1 and state = ?2 order by number",
                )?
                .query_map(params![hash, awaiting()?], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?
                .collect::<std::result::Result<_, _>>()?;
            for (job, attempt) in waiting {
                log.add(tx, &job, attempt, &EventBody::Approved)?;
                log.queue(tx, &job, attempt, None)?;
            }
            Ok(())
        })
    }

    /// Rejects a job, which fails with the reason. `by` is the name of the operator.
    pub(crate) fn reject(
        &self,
        id: &str,
        by: Option<&str>,
        reason: &str,
    ) -> Result<ApprovalOutcome> {
        let failed = EventBody::Failed(Failure {
            code: FailureCode::Rejected,
            message: format!("{} rejected the code: {reason}", by.unwrap_or("The operator")),
            help: "Change the code and submit it again, or ask the operator of this server. The code was not run."
                .to_owned(),
            traceback: None,
        });
        self.decide(id, |tx, log, attempt| log.add(tx, id, attempt, &failed))
    }

    /// Calls `act` with the attempt of a job if it waits for approval.
    fn decide(
        &self,
        id: &str,
        act: impl FnOnce(&Transaction, &mut Log, u32) -> Result<()>,
    ) -> Result<ApprovalOutcome> {
        self.change(|tx, log| {
            let found: Option<(String, u32)> = tx
                .query_row(
                    "select state, attempt from jobs where id = ?1",
                    [id],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()?;
            let Some((state, attempt)) = found else {
                return Ok(ApprovalOutcome::NotFound);
            };
            if state != awaiting()? {
                return Ok(ApprovalOutcome::NotWaiting);
            }
            act(tx, log, attempt)?;
            Ok(ApprovalOutcome::Decided)
        })
    }

    /// Up to `limit` jobs that wait for approval, the oldest first.
    pub(crate) fn awaiting_approval(&self, limit: usize) -> Result<Vec<Pending>> {
        let connection = self.reader();
        // One snapshot for all queries.
        let connection = connection.unchecked_transaction()?;
        let rows: Vec<(String, Option<String>, Option<String>, String)> = connection
            .prepare_cached(
                "select id, owner, title, code from jobs where state = ?1 order by number limit ?2",
            )?
            .query_map(params![awaiting()?, limit as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<std::result::Result<_, _>>()?;
        let mut pending = Vec::with_capacity(rows.len());
        for (id, owner, title, code) in rows {
            let Some(job) = summary(&connection, &id)? else {
                continue;
            };
            let approved = connection
                .prepare_cached(
                    "select jobs.id, jobs.code from approvals join jobs using (code_sha256)
                     where jobs.owner is ?1 or jobs.title = ?2
                     order by (jobs.owner is ?1 and jobs.title = ?2) desc, approvals.number desc, jobs.number desc limit 1",
                )?
                .query_row(params![owner, title], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let (last_approved, approved_code) = approved.unzip();
            pending.push(Pending {
                job: PendingJob {
                    job,
                    owner,
                    last_approved,
                },
                code,
                approved_code,
            });
        }
        Ok(pending)
    }
}

/// Whether code with this hash was approved before.
pub(super) fn is_approved(connection: &Connection, code_sha256: &str) -> Result<bool> {
    Ok(connection
        .prepare_cached("select 1 from approvals where code_sha256 = ?1")?
        .exists([code_sha256])?)
}

/// The stored state of jobs that wait for approval.
fn awaiting() -> Result<String> {
    stored_name(&JobState::AwaitingApproval)
}

#[cfg(test)]
mod tests {
    use super::super::{NewJob, QueueLimits, StoreError};
    use super::*;
    use hipward_protocol::{Device, JobView, VariantId, Vendor};
    use tempfile::TempDir;

    fn job(code: &str, owner: &str) -> NewJob {
        NewJob {
            code: code.to_owned(),
            code_sha256: format!("hash of {code}"),
            title: Some("softmax".to_owned()),
            variants: vec![VariantId::EAGER],
            device: None,
            owner: Some(owner.to_owned()),
            needs_approval: true,
        }
    }

    fn open() -> (TempDir, Store) {
        let folder = TempDir::new().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("an empty folder opens");
        (folder, store)
    }

    fn claim(store: &Store) -> Option<String> {
        let cpu = Device {
            id: "cpu".to_owned(),
            name: "A processor".to_owned(),
            vendor: Vendor::Cpu,
            arch: "x86_64".to_owned(),
            memory_bytes: 1,
            current_job: None,
        };
        store
            .claim(&cpu, true)
            .expect("works")
            .map(|lease| lease.job)
    }

    #[test]
    fn job_waits_for_approval_and_the_same_code_runs_without_it_afterwards() {
        let (_folder, store) = open();
        let first = store.submit(&job("x = 1", "ann"), 10).expect("is stored");
        let same = store.submit(&job("x = 1", "bob"), 10).expect("is stored");
        assert_eq!(
            (first.state, first.position),
            (JobState::AwaitingApproval, None)
        );
        assert_eq!(claim(&store), None);
        let approved = store.approve(&first.id, Some("carl")).expect("works");
        assert_eq!(approved, ApprovalOutcome::Decided);
        assert_eq!(claim(&store), Some(first.id.clone()));
        assert_eq!(claim(&store), Some(same.id), "it has the same code");
        let later = store.submit(&job("x = 1", "dan"), 10).expect("is queued");
        assert_eq!(later.state, JobState::Queued);
        let again = store.approve(&first.id, None).expect("works");
        assert_eq!(again, ApprovalOutcome::NotWaiting);
        let unknown = store.approve("unknown", None).expect("works");
        assert_eq!(unknown, ApprovalOutcome::NotFound);
        let events = store.events_after(&first.id, 0, 10).expect("readable");
        let approved = events.iter().any(|event| event.body == EventBody::Approved);
        assert!(approved, "{events:?}");
        let by: Option<String> = store
            .reader()
            .query_row("select approved_by from approvals", [], |row| row.get(0))
            .expect("one approval");
        assert_eq!(by.as_deref(), Some("carl"));
    }

    #[test]
    fn rejected_job_fails_with_the_reason_and_its_code_stays_unapproved() {
        let (_folder, store) = open();
        let id = store
            .submit(&job("x = 1", "ann"), 10)
            .expect("is stored")
            .id;
        let rejected = store.reject(&id, None, "it reads files").expect("works");
        assert_eq!(rejected, ApprovalOutcome::Decided);
        let view = JobView::from_events(&store.events_after(&id, 0, 10).expect("readable"));
        let failure = view.failure.expect("it failed");
        assert_eq!(failure.code, FailureCode::Rejected);
        assert!(failure.message.contains("it reads files"), "{failure:?}");
        let again = store.submit(&job("x = 1", "ann"), 10).expect("is stored");
        assert_eq!(again.state, JobState::AwaitingApproval);
    }

    #[test]
    fn pending_job_is_compared_with_the_code_that_was_approved_last() {
        let (_folder, store) = open();
        let submit = |code, owner| store.submit(&job(code, owner), 10).expect("is stored").id;
        let approve = |id: &str| store.approve(id, None).expect("works");
        for code in ["x = 1", "x = 2"] {
            approve(&submit(code, "ann"));
        }
        approve(&submit("y = 1", "bob"));
        submit("x = 3", "ann");
        let stranger = NewJob {
            title: None,
            ..job("z = 1", "dan")
        };
        store.submit(&stranger, 10).expect("is stored");
        let pending = store.awaiting_approval(10).expect("readable");
        let compared: Vec<_> = pending
            .iter()
            .map(|pending| (pending.code.as_str(), pending.approved_code.as_deref()))
            .collect();
        assert_eq!(compared, [("x = 3", Some("x = 2")), ("z = 1", None)]);
    }

    #[test]
    fn jobs_that_wait_for_approval_are_limited_and_do_not_fill_the_queue() {
        let (_folder, store) = open();
        let limits = QueueLimits {
            total: 2,
            per_owner: 1,
        };
        store.submit(&job("a", "ann"), limits).expect("is stored");
        let full = store.submit(&job("b", "ann"), limits);
        assert!(
            matches!(full, Err(StoreError::OwnerQueueFull { waiting: 1 })),
            "{full:?}"
        );
        let approved = NewJob {
            needs_approval: false,
            ..job("c", "ann")
        };
        let queued = store.submit(&approved, limits).expect("the queue is empty");
        assert_eq!(queued.state, JobState::Queued);
    }

    #[test]
    fn author_can_withdraw_a_job_that_waits_for_approval() {
        let (_folder, store) = open();
        let id = store
            .submit(&job("x = 1", "ann"), 10)
            .expect("is stored")
            .id;
        store.cancel(&id).expect("works");
        let late = store.approve(&id, None).expect("works");
        assert_eq!(late, ApprovalOutcome::NotWaiting);
        assert!(store.awaiting_approval(10).expect("readable").is_empty());
    }
}
