//! The order in which hosts that wait for a job are told about one. All of them wake up when a job is queued, and if all requested a
//! lease at once, the one that gets the job would wait for the others.

use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, Notify, OwnedMutexGuard},
    time::timeout,
};

/// Time within which a host that was told about a job requests a lease.
const CLAIM_WITHIN: Duration = Duration::from_millis(50);

/// The turns of the hosts that wait at this server.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandOver {
    turn: Arc<Mutex<()>>,
    claimed: Arc<Notify>,
}

/// The right to look for a job, while no other host that waits does.
pub(super) struct Turn {
    guard: OwnedMutexGuard<()>,
    claimed: Arc<Notify>,
}

impl HandOver {
    /// Waits for the turn of one host.
    pub(super) async fn turn(&self) -> Turn {
        Turn {
            guard: self.turn.clone().lock_owned().await,
            claimed: self.claimed.clone(),
        }
    }

    /// A host has requested a lease.
    pub(super) fn claimed(&self) {
        self.claimed.notify_waiters();
    }
}

impl Turn {
    /// Ends it after the next request of a lease: the next host then finds the job only if it still waits.
    pub(super) fn end_with_claim(self) {
        tokio::spawn(async move {
            // A host that is gone requests none.
            let _ = timeout(CLAIM_WITHIN, self.claimed.notified()).await;
            drop(self.guard);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test]
    async fn next_turn_begins_with_the_claim_or_after_a_while() {
        let hand_over = HandOver::default();
        hand_over.turn().await.end_with_claim();
        let next = hand_over.turn();
        tokio::pin!(next);
        assert!(
            timeout(Duration::from_millis(5), &mut next).await.is_err(),
            "the first host has requested nothing yet"
        );
        hand_over.claimed();
        let begin = Instant::now();
        next.await.end_with_claim();
        assert!(begin.elapsed() < CLAIM_WITHIN);
        let begin = Instant::now();
        drop(hand_over.turn().await);
        assert!(begin.elapsed() >= CLAIM_WITHIN / 2, "without a claim");
    }
}
