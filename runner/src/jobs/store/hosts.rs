//! Hosts that have joined the server, servers that share its database, and the leases of tokens.

use super::{Lease, Store, error::Result, lock, sql::values};
use crate::jobs::{HostReport, store::StoreError};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// Time after its last report for which a host is listed. A report from the future is old too: the clock was set back after it.
pub(super) const LISTED: Duration = Duration::from_secs(60);

/// Begins the names of servers in the table of hosts. No name of a host has a space.
pub(super) const SERVER: &str = "server ";

/// Number of parsed reports that are kept.
const MOST_PARSED: usize = 4096;

/// The last report of each host as text and parsed: each submission reads those of all hosts, and they seldom change.
#[derive(Debug, Default)]
pub(super) struct ParsedReports(HashMap<String, (String, Arc<HostReport>)>);

impl ParsedReports {
    /// The report of a host, which is parsed if it has changed.
    fn report(&mut self, host: String, text: String) -> Result<Arc<HostReport>> {
        if let Some((known, report)) = self.0.get(&host)
            && *known == text
        {
            return Ok(Arc::clone(report));
        }
        let report = Arc::new(serde_json::from_str(&text)?);
        // Hosts that start for one job have a new name each time.
        if self.0.len() >= MOST_PARSED {
            self.0.clear();
        }
        self.0.insert(host, (text, Arc::clone(&report)));
        Ok(report)
    }
}

impl Store {
    /// Records what this server can run itself, for the others that share its database.
    pub(crate) fn server_seen(&self, name: &str, report: &HostReport) -> Result<()> {
        self.host_seen(&format!("{SERVER}{name}"), "", report)
            .map(drop)
    }

    /// Removes the record of a server that stops.
    pub(crate) fn server_left(&self, name: &str) -> Result<()> {
        self.change(|tx, _| {
            let name = format!("{SERVER}{name}");
            tx.execute("delete from hosts where name = ?1", values![name])
                .map(drop)
        })
    }

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
    pub(crate) fn hosts(&self) -> Result<Vec<Arc<HostReport>>> {
        self.reports("name not like ?2 || '%'", SERVER)
    }

    /// What the other servers can run themselves that have reported recently. `own` is the name of this one.
    pub(crate) fn other_servers(&self, own: &str) -> Result<Vec<Arc<HostReport>>> {
        let own = format!("{SERVER}{own}");
        self.reports(&format!("name like '{SERVER}%' and name <> ?2"), &own)
    }

    fn reports(&self, condition: &str, name: &str) -> Result<Vec<Arc<HostReport>>> {
        let rows = self.read(|tx| {
            let query = format!(
                "select name, capabilities from hosts where abs({} - seen_at) < ?1 and {condition} order by name",
                tx.dialect().now
            );
            tx.query(&query, values![LISTED.as_secs_f64(), name])
        })?;
        let mut parsed = lock(&self.0.reports);
        let mut reports = Vec::with_capacity(rows.len());
        for row in rows {
            reports.push(parsed.report(row.get(0)?, row.get(1)?)?);
        }
        Ok(reports)
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
