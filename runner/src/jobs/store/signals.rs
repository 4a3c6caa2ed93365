//! Notifications of changes, for those in this process who wait for them.

use super::{lock, log::Log};
use hipward_protocol::Event;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;

/// The newest events of a job, so that not everybody who waits for them reads the database: those of the last transaction, or
/// none if another server has added later ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest(Arc<[Event]>);

impl Newest {
    /// All events after this sequence number. None if they must be read.
    pub(crate) fn after(&self, seq: u64) -> Option<Vec<Event>> {
        let next = self.0.iter().position(|event| event.seq == seq + 1)?;
        Some(self.0[next..].to_vec())
    }
}

/// Notifications of new events and of changes of the queue.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// The newest events of each job that is watched.
    watchers: Mutex<HashMap<String, watch::Sender<Newest>>>,
    /// Incremented with every change of the queue.
    queue: watch::Sender<u64>,
    /// Incremented with every change after which a device may get a job that it would not have got before.
    work: watch::Sender<u64>,
}

impl Signals {
    /// Notifies of events of a job.
    pub(super) fn watch(&self, job: &str) -> watch::Receiver<Newest> {
        let mut watchers = lock(&self.watchers);
        watchers.retain(|_, sender| sender.receiver_count() > 0);
        let sender = watchers.entry(job.to_owned()).or_default();
        sender.subscribe()
    }

    /// Notifies of changes of the queue.
    pub(super) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

    /// Notifies of changes after which a claim may succeed.
    pub(super) fn watch_work(&self) -> watch::Receiver<u64> {
        self.work.subscribe()
    }

    /// Sends the changes of a transaction.
    pub(super) fn send(&self, log: &Log) {
        if log.queue_changed {
            self.queue_changed();
        }
        if log.work_added {
            self.work_added();
        }
        for changes in log.changes.chunk_by(|a, b| a.job == b.job) {
            let events = changes.iter().filter_map(|change| change.event.clone());
            self.changed(&changes[0].job, events.collect());
        }
    }

    /// A job has new events, or was removed. `events` is empty if they are not known.
    pub(super) fn changed(&self, job: &str, events: Arc<[Event]>) {
        if let Some(sender) = lock(&self.watchers).get(job) {
            sender.send_replace(Newest(events));
        }
    }

    /// The queue has changed.
    pub(super) fn queue_changed(&self) {
        self.queue.send_modify(|count| *count += 1);
    }

    /// A device may get a job.
    pub(super) fn work_added(&self) {
        self.work.send_modify(|count| *count += 1);
    }

    /// Anything may have changed: everybody who waits checks the database.
    pub(super) fn everything_changed(&self) {
        for sender in lock(&self.watchers).values() {
            sender.send_modify(|newest| *newest = Newest::default());
        }
        self.queue_changed();
        self.work_added();
    }
}
