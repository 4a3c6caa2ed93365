//! Hosts that have joined the server, servers that share its database, and the leases of tokens.

use super::{Lease, Store, error::Result, lock, sql::values};
use crate::jobs::{HostReport, store::StoreError};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// Time after its last report for which a host is listed. A report from the future is old too: the clock was set back after it.
pub(super) const LISTED: Duration = Duration::from_secs(60);

/// Begins the names of servers in the table of hosts. No name of a host has a space.
pub(super) const SERVER: &str = "server ";

/// Number of parsed reports that are kept.
const MOST_PARSED: usize = 4096;

/// What can run jobs besides this server, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentReports {
    /// The hosts that have joined.
    pub(crate) hosts: Arc<[Arc<HostReport>]>,
    /// The other servers that share the database.
    pub(crate) servers: Arc<[Arc<HostReport>]>,
}

/// The last report of each host as text and parsed, and the last list of all: submissions need those of all hosts, and they
/// seldom change.
#[derive(Debug, Default)]
pub(super) struct Reports {
    parsed: HashMap<String, (String, Arc<HostReport>)>,
    last: Option<(RecentReports, Instant)>,
}

impl Reports {
    /// The report of a host, which is parsed if it has changed.
    fn report(&mut self, host: String, text: String) -> Result<Arc<HostReport>> {
        if let Some((known, report)) = self.parsed.get(&host)
            && *known == text
        {
            return Ok(Arc::clone(report));
        }
        let report = Arc::new(serde_json::from_str(&text)?);
        // Hosts that start for one job have a new name each time.
        if self.parsed.len() >= MOST_PARSED {
            self.parsed.clear();
        }
        self.parsed.insert(host, (text, Arc::clone(&report)));
        Ok(report)
    }

    /// The last list, if it is no older than this.
    fn last(&self, max_age: Duration) -> Option<&RecentReports> {
        let (last, at) = self.last.as_ref()?;
        (at.elapsed() < max_age).then_some(last)
    }

    /// Forgets the last list, if it has no such report of a host.
    fn stored(&mut self, host: &str, text: &str) {
        if self.parsed.get(host).is_none_or(|(known, _)| known != text) {
            self.last = None;
        }
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
        })?;
        lock(&self.0.reports).last = None;
        Ok(())
    }

    /// Records what a host can run. Returns false if a host with another token has this name.
    pub(crate) fn host_seen(&self, name: &str, token: &str, report: &HostReport) -> Result<bool> {
        let report = serde_json::to_string(report)?;
        let is_free = self.change(|tx, _| {
            let now = tx.dialect().now;
            let stored = tx.execute(
                &format!(
                    "insert into hosts (name, token, capabilities, seen_at) values (?1, ?2, ?3, {now})
                     on conflict (name) do update
                     set token = excluded.token, capabilities = excluded.capabilities, seen_at = excluded.seen_at
                     where hosts.token = excluded.token or abs({now} - hosts.seen_at) > ?4"
                ),
                values![name, token, &report, LISTED.as_secs_f64()],
            )?;
            Ok(stored > 0)
        })?;
        lock(&self.0.reports).stored(name, &report);
        Ok(is_free)
    }

    /// What the hosts and the other servers can run that have reported recently. `own` is the name of this server. A result that
    /// is no older than `max_age` is returned again.
    pub(crate) fn recent_reports(&self, own: &str, max_age: Duration) -> Result<RecentReports> {
        if let Some(last) = lock(&self.0.reports).last(max_age) {
            return Ok(last.clone());
        }
        let at = Instant::now();
        let rows = self.read(|tx| {
            let query = format!(
                "select name, capabilities from hosts where abs({} - seen_at) < ?1 order by name",
                tx.dialect().now
            );
            tx.query(&query, values![LISTED.as_secs_f64()])
        })?;
        let mut reports = lock(&self.0.reports);
        let (mut hosts, mut servers) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let name: String = row.get(0)?;
            match name.strip_prefix(SERVER).map(|server| server == own) {
                None => hosts.push(reports.report(name, row.get(1)?)?),
                Some(false) if self.is_shared() => {
                    servers.push(reports.report(name, row.get(1)?)?);
                }
                Some(_) => {}
            }
        }
        let recent = RecentReports {
            hosts: hosts.into(),
            servers: servers.into(),
        };
        reports.last = Some((recent.clone(), at));
        Ok(recent)
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
