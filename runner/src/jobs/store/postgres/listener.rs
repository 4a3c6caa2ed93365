//! Receives the changes of other servers with `LISTEN`, and reports them to those in this process who wait for them. While the
//! connection is lost, and for poolers that drop notifications, everybody checks the database at intervals.

use crate::jobs::store::signals::Signals;
use std::{future::poll_fn, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The channel of the notifications.
pub(super) const CHANNEL: &str = "hipward";
/// Interval at which everybody who waits checks the database.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The same while no notification can be received.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);
/// In place of the list of changes, if it is too long.
const EVERYTHING: &str = "*";
/// The queue has changed, and a device may get a job.
const QUEUE: &str = "queue";
/// The queue has changed, and no device gets a job through that.
const POSITIONS: &str = "positions";

/// The text of a notification: the server that sends it, and what has changed. `queue` is whether the queue has changed, and
/// whether a device may get a job.
pub(super) fn payload(server: &str, queue: (bool, bool), jobs: &[String], limit: usize) -> String {
    let mut payload = server.to_owned();
    let queue = match queue {
        (_, true) => Some(QUEUE),
        (true, false) => Some(POSITIONS),
        (false, false) => None,
    };
    if let Some(word) = queue {
        payload.push(' ');
        payload.push_str(word);
    }
    for job in jobs {
        payload.push(' ');
        payload.push_str(job);
    }
    if payload.len() > limit {
        payload = format!("{server} {EVERYTHING}");
    }
    payload
}

/// Listens until the runtime ends.
pub(super) async fn listen(
    config: Config,
    tls: MakeRustlsConnect,
    server: String,
    signals: Arc<Signals>,
) {
    let mut was_reported = false;
    loop {
        match receive(&config, tls.clone(), &server, &signals).await {
            Ok(()) => was_reported = false,
            Err(error) if !was_reported => {
                tracing::warn!("no notifications from the job database: {error}");
                was_reported = true;
            }
            Err(_) => {}
        }
        signals.everything_changed();
        sleep(RECONNECT_INTERVAL).await;
    }
}

/// Receives notifications until the connection is lost.
async fn receive(
    config: &Config,
    tls: MakeRustlsConnect,
    server: &str,
    signals: &Signals,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(tls).await?;
    let (sender, mut payloads) = mpsc::unbounded_channel();
    let driver = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(notification)) => {
                    // The receiver lives as long as this task.
                    let _ = sender.send(notification.payload().to_owned());
                }
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    });
    client.batch_execute(&format!("listen {CHANNEL}")).await?;
    // Changes from before.
    signals.everything_changed();
    let mut poll = interval(POLL_INTERVAL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            payload = payloads.recv() => match payload {
                Some(payload) => apply(&payload, server, signals),
                None => break,
            },
            _ = poll.tick() => signals.everything_changed(),
        }
    }
    // It has ended, because it has dropped the sender.
    driver.await.unwrap_or(Ok(()))
}

/// Sends the signals of a notification of another server.
fn apply(payload: &str, server: &str, signals: &Signals) {
    let mut words = payload.split(' ');
    if words.next() == Some(server) {
        return;
    }
    for word in words {
        match word {
            EVERYTHING => signals.everything_changed(),
            QUEUE => {
                signals.queue_changed();
                signals.work_added();
            }
            POSITIONS => signals.queue_changed(),
            job => signals.changed(job, Arc::default()),
        }
    }
}
