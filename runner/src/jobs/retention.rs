//! Removes old jobs while the server runs.

use super::store::{Retention, Store};
use crate::shutdown::Shutdown;
use std::time::Duration;
use tokio::time::sleep;

/// Interval of the removal.
const INTERVAL: Duration = Duration::from_secs(60);

/// Removes jobs that the retention does not include, at once and then at intervals, until the server stops.
pub(crate) async fn apply_retention(store: Store, retention: Retention, mut shutdown: Shutdown) {
    if retention == Retention::default() {
        return;
    }
    loop {
        match store.with(move |store| store.purge(retention)).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!("removed {removed} old jobs"),
            Err(error) => tracing::error!("cannot remove old jobs: {error}"),
        }
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = shutdown.requested() => return,
        }
    }
}
