//! Notifications of changes, for those in this process who wait for them.

use super::{lock, log::Log};
use std::{collections::HashMap, sync::Mutex};
use tokio::sync::watch;

/// Notifications of new events and of changes of the queue.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// The newest sequence number of each job that is watched.
    watchers: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// Incremented with every change of the queue.
    queue: watch::Sender<u64>,
}

impl Signals {
    /// Notifies of events of a job.
    pub(super) fn watch(&self, job: &str) -> watch::Receiver<u64> {
        let mut watchers = lock(&self.watchers);
        watchers.retain(|_, sender| sender.receiver_count() > 0);
        let sender = watchers
            .entry(job.to_owned())
            .or_insert_with(|| watch::Sender::new(0));
        sender.subscribe()
    }

    /// Notifies of changes of the queue.
    pub(super) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

    /// Sends the changes of a transaction.
    pub(super) fn send(&self, log: &Log) {
        if log.queue_changed {
            self.queue_changed();
        }
        for (job, seq) in &log.added {
            self.added(job, *seq);
        }
    }

    /// A job has a new event.
    pub(super) fn added(&self, job: &str, seq: u64) {
        if let Some(sender) = lock(&self.watchers).get(job) {
            sender.send_replace(seq);
        }
    }

    /// The queue has changed.
    pub(super) fn queue_changed(&self) {
        self.queue.send_modify(|count| *count += 1);
    }

    /// Anything may have changed: everybody who waits checks the database.
    pub(super) fn everything_changed(&self) {
        for sender in lock(&self.watchers).values() {
            sender.send_modify(|_| {});
        }
        self.queue_changed();
    }
}
