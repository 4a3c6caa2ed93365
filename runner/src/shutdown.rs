//! The wish to stop: a person's, and the server's, as everything that runs for long hears it.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Tells all [`Shutdown`]s.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<bool>);

/// Hears of it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// The two ends.
pub(crate) fn shutdown() -> (Stop, Shutdown) {
    let (tell, hear) = watch::channel(false);
    (Stop(tell), Shutdown(hear))
}

impl Stop {
    /// Asks everything to stop.
    pub(crate) fn now(self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether it was asked for.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when it is asked for. May be dropped and called again.
    pub(crate) async fn requested(&mut self) {
        // Without the other end nobody is left to serve, which amounts to the same.
        let _ = self.0.wait_for(|&stopping| stopping).await;
    }
}

/// Ctrl-C or SIGTERM. Where neither can be listened to, only SIGKILL is left.
pub(crate) async fn told_to_stop() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
