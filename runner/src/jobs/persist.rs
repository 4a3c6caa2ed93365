//! Retries changes of the store that must not be lost: the end of a job, and its return to the queue. The disk may be full or the
//! database locked for a while, and a job without a final event would stay `running`.

use super::{store::StoreError, work_source::SourceResult};
use crate::shutdown::Shutdown;
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::time::sleep;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Retries a change until it is stored, another attempt has the job, or the server stops. The next server recovers jobs that
/// are stored as running.
pub(super) async fn persist<'a>(
    shutdown: &mut Shutdown,
    job: &str,
    change: impl Fn() -> BoxFuture<'a, SourceResult<()>>,
) {
    let mut pause = FIRST_DELAY;
    loop {
        match change().await {
            Ok(()) | Err(StoreError::Fenced) => return,
            Err(error) => {
                tracing::error!("job {job}: its end could not be stored, retrying: {error}")
            }
        }
        if shutdown.is_requested() {
            return;
        }
        tokio::select! {
            () = sleep(pause) => pause = (2 * pause).min(MAX_DELAY),
            () = shutdown.requested() => return,
        }
    }
}
