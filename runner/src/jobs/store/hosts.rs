//! Hosts that have joined the server, and the leases of their tokens.

use super::{Lease, Store, error::Result, sql::values};
use crate::jobs::{HostReport, store::StoreError};
use std::time::Duration;

/// Time after its last report for which a host is listed. A report from the future is old too: the clock was set back after it.
pub(super) const LISTED: Duration = Duration::from_secs(60);

impl Store {
    /// Records what a host can run. Returns false if a host with another token has this name.
    pub(crate) fn host_seen(&self, name: &str, token: &str, report: &HostReport) -> Result<bool> {
        let report = serde_json::to_string(report)?;
        self.change(|tx, _| {
            let now = tx.dialect().now;
            let stored = tx.execute(
                &format!(
                    "insert into hosts (name, token, capabilities, seen_at) values (?1, ?2, ?3, {now})
                     on conflict (name) do update
                     set token = excluded.token, capabilities = excluded.capabilities, seen_at = excluded.seen_at
                     where hosts.token = excluded.token or abs({now} - hosts.seen_at) > ?4"
                ),
                values![name, token, report, LISTED.as_secs_f64()],
            )?;
            Ok(stored > 0)
        })
    }

    /// What the hosts can run that have reported recently, by name.
    pub(crate) fn hosts(&self) -> Result<Vec<HostReport>> {
        let rows = self.read(|tx| {
            let query = format!(
                "select capabilities from hosts where abs({} - seen_at) < ?1 order by name",
                tx.dialect().now
            );
            tx.query(&query, values![LISTED.as_secs_f64()])
        })?;
        rows.iter()
            .map(|row| Ok(serde_json::from_str(&row.get::<String>(0)?)?))
            .collect()
    }

    /// The lease of an attempt, if the token with this name has it. Without the snippet.
    pub(crate) fn lease_of(&self, job: &str, attempt: u32, holder: &str) -> Result<Lease> {
        let has_it = self.read(|tx| {
            tx.exists(
                "select 1 from jobs where id = ?1 and attempt = ?2 and holder = ?3",
                values![job, attempt, holder],
            )
        })?;
        if !has_it {
            return Err(StoreError::Fenced);
        }
        Ok(Lease {
            job: job.to_owned(),
            attempt,
            code: String::new(),
            code_sha256: String::new(),
            variants: Vec::new(),
        })
    }
}
