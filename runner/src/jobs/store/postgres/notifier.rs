//! Sends the changes of this server to the others with `NOTIFY`, after their commits and on a connection of its own.
//!
//! A transaction that notifies takes a lock of the whole database until its commit is on disk, so such transactions commit one
//! after the other. Without it, commits that arrive at the same time share one write to the disk. Changes whose notification is
//! lost, because a server ends in between, are found at the interval at which everybody checks the database.

use super::listener::{CHANNEL, payload};
use crate::jobs::store::log::Log;
use std::time::Duration;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::sleep,
};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Time until the next attempt to connect.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);
/// The longest text that `NOTIFY` can send is 7,999 bytes.
const MAX_PAYLOAD: usize = 7900;

/// What transactions have changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    queue: bool,
    work: bool,
    jobs: Vec<String>,
}

impl Changes {
    fn of(log: &Log) -> Self {
        Changes {
            queue: log.queue_changed,
            work: log.work_added,
            jobs: log
                .changes
                .iter()
                .map(|change| change.job.clone())
                .collect(),
        }
    }

    fn is_empty(&self) -> bool {
        !self.queue && !self.work && self.jobs.is_empty()
    }

    fn merge(&mut self, other: Changes) {
        self.queue |= other.queue;
        self.work |= other.work;
        for job in other.jobs {
            if !self.jobs.contains(&job) {
                self.jobs.push(job);
            }
        }
    }
}

/// Takes the changes of committed transactions.
#[derive(Debug)]
pub(super) struct Notifier(UnboundedSender<Changes>);

impl Notifier {
    /// The changes of a transaction that was committed.
    pub(super) fn committed(&self, log: &Log) {
        let changes = Changes::of(log);
        if !changes.is_empty() {
            // Fails if the server is stopping.
            let _ = self.0.send(changes);
        }
    }
}

/// A notifier, and the task that sends what it gets until the runtime ends.
pub(super) fn notifier(
    mut config: Config,
    tls: MakeRustlsConnect,
    server: String,
) -> (Notifier, impl Future<Output = ()>) {
    // A notification is gone after a crash of the database anyway, so its commit need not wait for the disk.
    let options = config.get_options().unwrap_or_default();
    config.options(format!("{options} -c synchronous_commit=off").trim());
    let (sender, changes) = unbounded_channel();
    (Notifier(sender), run(config, tls, server, changes))
}

async fn run(
    config: Config,
    tls: MakeRustlsConnect,
    server: String,
    mut received: UnboundedReceiver<Changes>,
) {
    let statement = format!("select pg_notify('{CHANNEL}', $1)");
    let mut connection: Option<Client> = None;
    while let Some(mut changes) = received.recv().await {
        // Those that arrived during the last notification are sent together.
        while let Ok(more) = received.try_recv() {
            changes.merge(more);
        }
        let payload = payload(
            &server,
            (changes.queue, changes.work),
            &changes.jobs,
            MAX_PAYLOAD,
        );
        loop {
            let client = match connection.take().filter(|client| !client.is_closed()) {
                Some(client) => Some(client),
                None => connect(&config, tls.clone()).await,
            };
            if let Some(client) = client
                && client.query(&statement, &[&payload]).await.is_ok()
            {
                connection = Some(client);
                break;
            }
            sleep(RECONNECT_INTERVAL).await;
        }
    }
}

/// A connection. None if there is none now, which the listener reports.
async fn connect(config: &Config, tls: MakeRustlsConnect) -> Option<Client> {
    let (client, connection) = config.connect(tls).await.ok()?;
    // It ends with an error when the connection is lost, which the next statement notices.
    tokio::spawn(async move { drop(connection.await) });
    Some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_changes_name_each_job_once() {
        let changes = |queue, jobs: &[&str]| Changes {
            queue,
            work: false,
            jobs: jobs.iter().map(|&job| job.to_owned()).collect(),
        };
        let mut all = changes(false, &["a"]);
        all.merge(changes(true, &["b", "a"]));
        all.merge(changes(false, &[]));
        let text = |all: &Changes, limit| payload("s", (all.queue, all.work), &all.jobs, limit);
        assert_eq!(text(&all, 100), "s positions a b");
        assert_eq!(text(&all, 8), "s *");
        all.work = true;
        assert_eq!(text(&all, 100), "s queue a b");
        assert!(Changes::default().is_empty());
    }
}
