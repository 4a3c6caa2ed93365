//! The runner of a server while it starts: the server answers at once, and PyTorch and the devices are found in the
//! background. Until then a placeholder refuses jobs and states why.

use super::runner::{Runner, Settings};
use crate::{isolation::Host, python};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::sleep};

/// How often to check whether `make serve` has finished installing PyTorch.
const INSTALL_POLL: Duration = Duration::from_secs(1);

/// The runner as it is now. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LocalRunner(watch::Receiver<State>);

#[derive(Clone, Debug)]
struct State {
    runner: Arc<Runner>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Takes seconds: Python is started and imports PyTorch.
    Searching,
    /// Takes minutes: PyTorch is being downloaded.
    Installing,
    /// The runner does not change any more.
    Ready,
}

impl LocalRunner {
    /// A runner that needs no search.
    pub(crate) fn ready(runner: Runner) -> Self {
        let state = State {
            runner: Arc::new(runner),
            phase: Phase::Ready,
        };
        LocalRunner(watch::channel(state).1)
    }

    /// Starts the search in the background. `on_ready` is called with the result.
    pub(crate) fn start(
        settings: Settings,
        on_ready: impl FnOnce(&Runner) + Send + 'static,
    ) -> Self {
        let host = Host::detect(settings.mechanisms);
        let searching = State {
            runner: Arc::new(Runner::searching(settings.clone(), host.clone())),
            phase: Phase::Searching,
        };
        let (sender, receiver) = watch::channel(searching);
        tokio::spawn(async move {
            while python::is_installing(settings.python.as_deref()) {
                if sender.borrow().phase != Phase::Installing {
                    tracing::info!("PyTorch is being installed; benchmarks will run after that");
                    sender.send_replace(State {
                        runner: Arc::new(Runner::installing(settings.clone(), host.clone())),
                        phase: Phase::Installing,
                    });
                }
                sleep(INSTALL_POLL).await;
            }
            let runner = match Runner::discover(settings.clone(), host.clone()).await {
                Ok(runner) => runner,
                Err(error) => Runner::without_package(settings, host, &error),
            };
            on_ready(&runner);
            sender.send_replace(State {
                runner: Arc::new(runner),
                phase: Phase::Ready,
            });
        });
        LocalRunner(receiver)
    }

    /// The runner once the search is over, or at once if it waits for an installation.
    pub(crate) async fn settled(&self) -> Arc<Runner> {
        self.wait(|phase| phase != Phase::Searching).await
    }

    /// The runner once the search is over.
    pub(crate) async fn found(&self) -> Arc<Runner> {
        self.wait(|phase| phase == Phase::Ready).await
    }

    async fn wait(&self, reached: impl Fn(Phase) -> bool) -> Arc<Runner> {
        let mut state = self.0.clone();
        // The search ends without a result only if it panics; the placeholder then states that it never ended.
        let _ = state.wait_for(|state| reached(state.phase)).await;
        state.borrow().runner.clone()
    }
}
