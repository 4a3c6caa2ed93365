//! Changes of the store that must not be lost: a job's end, and its way back into the queue. A disk may be full or the
//! database locked for a while, and a job without its end would stay `running`.

use super::store::{Store, StoreError};
use crate::shutdown::Shutdown;
use std::time::Duration;
use tokio::time::sleep;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Retries a change until it is stored, another attempt holds the job, or the server stops: the next one finds the job
/// running, and deals with it.
pub(super) async fn persist(
    store: &Store,
    shutdown: &mut Shutdown,
    job: &str,
    change: impl Fn(&Store) -> Result<(), StoreError> + Clone + Send + 'static,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        match store.with(change.clone()).await {
            Ok(()) | Err(StoreError::Fenced) => return,
            Err(error) => tracing::error!("job {job}: its end cannot be stored yet: {error}"),
        }
        if shutdown.is_requested() {
            return;
        }
        tokio::select! {
            () = sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
            () = shutdown.requested() => return,
        }
    }
}
