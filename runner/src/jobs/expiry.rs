//! Ends leases that were not renewed: the host that ran the job has crashed, or cannot reach the database.

use super::{store::Store, work_source::LEASE_TIME};
use crate::shutdown::Shutdown;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Interval of the check.
const INTERVAL: Duration = Duration::from_secs(5);

/// Requeues or fails jobs whose lease has expired, until the server stops. After the start of this server, and after the database
/// could not be reached, hosts first get time to renew their leases.
pub(crate) async fn expire_leases(store: Store, mut shutdown: Shutdown) {
    let mut reachable_since = None;
    loop {
        match check(&store, reachable_since).await {
            Ok(()) => {
                reachable_since.get_or_insert_with(Instant::now);
            }
            Err(error) => {
                if reachable_since.take().is_some() {
                    tracing::error!("cannot check the leases of jobs: {error}");
                }
            }
        }
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = shutdown.requested() => return,
        }
    }
}

async fn check(
    store: &Store,
    reachable_since: Option<Instant>,
) -> Result<(), super::store::StoreError> {
    let expired = store.with(|store| store.expired()).await?;
    let had_time = reachable_since.is_some_and(|since| since.elapsed() > LEASE_TIME);
    if expired == 0 || !had_time {
        return Ok(());
    }
    let reason = "the host that ran this job stopped responding";
    let ended = store.with(|store| store.end_expired(reason)).await?;
    for job in ended {
        tracing::warn!(job, "its host stopped responding");
    }
    Ok(())
}
