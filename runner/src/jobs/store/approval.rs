//! Approval of code: jobs that wait until an operator has seen their code, and the hashes of approved code.

use super::{
    Store,
    error::Result,
    log::{Log, now, stored_name},
    queries::summary,
    sql::{Sql, values},
};
use hipward_protocol::{EventBody, Failure, FailureCode, JobState, PendingJob};

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
        self.decide(id, |tx, log, waiting| {
            tx.execute(
                "insert into approvals (code_sha256, approved_at, approved_by)
                 select code_sha256, ?2, ?3 from jobs where id = ?1 on conflict do nothing",
                values![id, now(), by],
            )?;
            for (job, attempt) in waiting {
                log.add(tx, job, *attempt, &EventBody::Approved)?;
                log.queue(tx, job, *attempt, None)?;
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
        self.decide(id, |tx, log, waiting| {
            for (job, attempt) in waiting.iter().filter(|(job, _)| job == id) {
                log.add(tx, job, *attempt, &failed)?;
            }
            Ok(())
        })
    }

    /// Calls `act` with all jobs that wait for approval with the same code as this job, and their attempts, if this job waits.
    fn decide(
        &self,
        id: &str,
        act: impl FnOnce(&dyn Sql, &mut Log, &[(String, u32)]) -> Result<()>,
    ) -> Result<ApprovalOutcome> {
        self.change(|tx, log| {
            let code: Option<String> =
                tx.value("select code_sha256 from jobs where id = ?1", values![id])?;
            if let Some(code) = code {
                lock_code(tx, &code)?;
            }
            // Locked in one order, so that two decisions about the same code do not wait for each other.
            let rows = tx.query(
                &format!(
                    "select id, attempt from jobs
                     where state = ?2 and code_sha256 = (select code_sha256 from jobs where id = ?1) order by number{}",
                    tx.dialect().for_update
                ),
                values![id, awaiting()?],
            )?;
            let waiting: Vec<(String, u32)> = rows
                .iter()
                .map(|row| Ok((row.get(0)?, row.get(1)?)))
                .collect::<Result<_>>()?;
            if waiting.iter().any(|(job, _)| job == id) {
                act(tx, log, &waiting)?;
                return Ok(ApprovalOutcome::Decided);
            }
            match tx.exists("select 1 from jobs where id = ?1", values![id])? {
                true => Ok(ApprovalOutcome::NotWaiting),
                false => Ok(ApprovalOutcome::NotFound),
            }
        })
    }

    /// Up to `limit` jobs that wait for approval, the oldest first.
    pub(crate) fn awaiting_approval(&self, limit: usize) -> Result<Vec<Pending>> {
        self.read(|tx| {
            let rows = tx.query(
                "select id, owner, title, code from jobs where state = ?1 order by number limit ?2",
                values![awaiting()?, limit],
            )?;
            let mut pending = Vec::with_capacity(rows.len());
            for row in rows {
                let Some(job) = summary(tx, &row.get::<String>(0)?)? else {
                    continue;
                };
                let owner: Option<String> = row.get(1)?;
                let title: Option<String> = row.get(2)?;
                let approved = tx.first(
                    "select jobs.id, jobs.code from approvals join jobs using (code_sha256)
                     where jobs.owner is not distinct from ?1 or jobs.title = ?2
                     order by coalesce(jobs.owner is not distinct from ?1 and jobs.title = ?2, false) desc,
                         approvals.number desc, jobs.number desc
                     limit 1",
                    values![&owner, &title],
                )?;
                let (last_approved, approved_code) = match approved {
                    Some(row) => (Some(row.get(0)?), Some(row.get(1)?)),
                    None => (None, None),
                };
                pending.push(Pending {
                    job: PendingJob {
                        job,
                        owner,
                        last_approved,
                    },
                    code: row.get(3)?,
                    approved_code,
                });
            }
            Ok(pending)
        })
    }
}

/// Whether code with this hash was approved before.
pub(super) fn is_approved(tx: &dyn Sql, code_sha256: &str) -> Result<bool> {
    tx.exists(
        "select 1 from approvals where code_sha256 = ?1",
        values![code_sha256],
    )
}

/// Makes the decision about code and the submission of jobs with it wait for each other. Otherwise a job that is submitted while
/// its code is being approved could wait for an approval that has been given.
pub(super) fn lock_code(tx: &dyn Sql, code_sha256: &str) -> Result<()> {
    tx.lock(&format!("code {code_sha256}"))
}

/// The stored state of jobs that wait for approval.
fn awaiting() -> Result<String> {
    stored_name(&JobState::AwaitingApproval)
}
