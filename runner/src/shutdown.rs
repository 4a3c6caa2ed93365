//! The shutdown signal, which all long-running tasks share, and the Ctrl-C and SIGTERM that trigger it.

use std::io;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// The sender of the shutdown signal.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<bool>);

/// The receiver of the shutdown signal. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// Creates a shutdown signal.
pub(crate) fn shutdown() -> (Stop, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Stop(sender), Shutdown(receiver))
}

impl Stop {
    /// Sets the signal.
    pub(crate) fn now(self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether the signal is set.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the signal is set. Cancel-safe.
    pub(crate) async fn requested(&mut self) {
        // A dropped sender has the same effect.
        let _ = self.0.wait_for(|&stopping| stopping).await;
    }
}

/// Interrupts of this process: Ctrl-C (SIGINT) and SIGTERM.
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Installs the handlers. Interrupts before the first call of [`Interrupts::next`] are not lost.
    pub(crate) fn listen() -> io::Result<Interrupts> {
        Ok(Interrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Resolves at the next interrupt. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{self, raise};
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    #[tokio::test]
    async fn interrupt_between_two_waits_is_not_lost() {
        let mut interrupts = Interrupts::listen().expect("signals can be listened to");
        let pause = Duration::from_millis(1);
        assert!(timeout(pause, interrupts.next()).await.is_err());
        raise(signal::SIGINT).expect("is raised");
        sleep(pause).await;
        let received = timeout(Duration::from_secs(5), interrupts.next()).await;
        assert!(received.is_ok());
        assert!(timeout(pause, interrupts.next()).await.is_err(), "once");
    }
}
