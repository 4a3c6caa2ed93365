//! What operators see and change of all hosts: their last reports, the jobs that run on them, drains and maintenance.

use super::{
    Store,
    error::Result,
    hosts::{LISTED, SERVER},
    sql::{Row, values},
};
use crate::jobs::HostReport;
use hipward_protocol::FleetJob;
use std::{collections::BTreeMap, time::Duration};

/// Time after its last report for which operators see a host.
const REMEMBERED: Duration = Duration::from_hours(24);

/// A host that has joined, or another server that shares the database, with its last report.
#[derive(Clone, Debug)]
pub(crate) struct SeenHost {
    /// Its name.
    pub(crate) name: String,
    /// Its last report.
    pub(crate) report: HostReport,
    /// Time since the report, seconds.
    pub(crate) seen_s: f64,
    /// Whether it has not reported for so long that its devices are not listed.
    pub(crate) is_silent: bool,
}

/// A running job with its place.
#[derive(Clone, Debug)]
pub(crate) struct RunningJob {
    /// The host.
    pub(crate) host: String,
    /// The id of the device.
    pub(crate) device: String,
    /// The job.
    pub(crate) job: FleetJob,
}

impl Store {
    /// The hosts that have reported within a day, by name, and the other servers that have reported recently. `own` is the name of
    /// this server.
    pub(crate) fn seen_hosts(&self, own: &str) -> Result<Vec<SeenHost>> {
        let own = format!("{SERVER}{own}");
        let rows = self.read(|tx| {
            let now = tx.dialect().now;
            let query = format!(
                "select name, capabilities, {now} - seen_at from hosts where seen_at > {now} - ?1 order by name"
            );
            tx.query(&query, values![REMEMBERED.as_secs_f64()])
        })?;
        let mut hosts = Vec::with_capacity(rows.len());
        for row in rows {
            let stored: String = row.get(0)?;
            let seen_s: f64 = row.get(2)?;
            let is_silent = seen_s.abs() >= LISTED.as_secs_f64();
            let name = match stored.strip_prefix(SERVER) {
                // A server that was killed is another one after its start.
                Some(_) if is_silent || stored == own => continue,
                Some(server) => server.split(' ').next().unwrap_or_default(),
                None => &stored,
            };
            hosts.push(SeenHost {
                name: name.to_owned(),
                report: serde_json::from_str(&row.get::<String>(1)?)?,
                seen_s: seen_s.max(0.0),
                is_silent,
            });
        }
        Ok(hosts)
    }

    /// The running jobs of all hosts.
    pub(crate) fn running_jobs(&self) -> Result<Vec<RunningJob>> {
        let rows = self.read(|tx| {
            let now = tx.dialect().now;
            let query = format!(
                "select coalesce(on_host, ''), coalesce(on_device, ''), id, title, owner, coalesce({now} - leased_at, 0)
                 from jobs where state = 'running' order by number"
            );
            tx.query(&query, &[])
        })?;
        let job = |row: &Row| {
            Ok(RunningJob {
                host: row.get(0)?,
                device: row.get(1)?,
                job: FleetJob {
                    id: row.get(2)?,
                    title: row.get(3)?,
                    owner: row.get(4)?,
                    runs_s: row.get::<f64>(5)?.max(0.0),
                },
            })
        };
        rows.iter().map(job).collect()
    }

    /// The hosts that start no jobs, with the reasons.
    pub(crate) fn drains(&self) -> Result<BTreeMap<String, String>> {
        let rows = self.read(|tx| tx.query("select host, reason from drains", &[]))?;
        rows.iter()
            .map(|row| Ok((row.get(0)?, row.get(1)?)))
            .collect()
    }

    /// Makes a host start no more jobs until [`resume`](Self::resume), also after it was started again.
    pub(crate) fn drain(&self, host: &str, reason: &str) -> Result<()> {
        self.change(|tx, log| {
            tx.execute(
                "insert into drains (host, reason) values (?1, ?2)
                 on conflict (host) do update set reason = excluded.reason",
                values![host, reason],
            )?;
            log.queue_changed = true;
            Ok(())
        })
    }

    /// Makes a host start jobs again. Returns false if it was not drained.
    pub(crate) fn resume(&self, host: &str) -> Result<bool> {
        self.change(|tx, log| {
            log.queue_changed = true;
            log.work_added = true;
            Ok(tx.execute("delete from drains where host = ?1", values![host])? > 0)
        })
    }

    /// Why no host starts jobs at present, if an operator has started maintenance.
    pub(crate) fn maintenance(&self) -> Result<Option<String>> {
        self.read(|tx| tx.value("select value from meta where key = 'maintenance'", &[]))
    }

    /// Starts or ends maintenance, during which no host starts a job.
    pub(crate) fn set_maintenance(&self, reason: Option<&str>) -> Result<()> {
        self.change(|tx, log| {
            log.queue_changed = true;
            log.work_added = true;
            match reason {
                Some(reason) => tx.execute(
                    "insert into meta values ('maintenance', ?1) on conflict (key) do update set value = excluded.value",
                    values![reason],
                )?,
                None => tx.execute("delete from meta where key = 'maintenance'", &[])?,
            };
            Ok(())
        })
    }
}
