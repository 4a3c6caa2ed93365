//! The wish to stop: a person's, and the server's, as everything that runs for long hears it.

use std::io;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
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

/// A person's wish to stop this process: Ctrl-C, or SIGTERM.
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Listens from now on: what comes before [`Interrupts::next`] is called is kept for it.
    pub(crate) fn listen() -> io::Result<Interrupts> {
        Ok(Interrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Resolves at the next one. May be dropped and called again; none is missed in between.
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
    async fn an_interrupt_between_two_waits_is_heard_by_the_second() {
        let mut interrupts = Interrupts::listen().expect("signals can be listened to");
        let pause = Duration::from_millis(1);
        assert!(timeout(pause, interrupts.next()).await.is_err());
        raise(signal::SIGINT).expect("is raised");
        sleep(pause).await;
        let heard = timeout(Duration::from_secs(5), interrupts.next()).await;
        assert!(heard.is_ok());
        assert!(timeout(pause, interrupts.next()).await.is_err(), "once");
    }
}
