//! One loop per device: keep a worker warm, lease the next job, run it, start over. The next worker
//! is warmed after a job and never beside it, where it would disturb the timings.

use super::{
    failure,
    runner::Runner,
    store::{Lease, Store},
    worker::{Outcome, Worker},
};
use crate::shutdown::Shutdown;
use hipward_protocol::{Device, Vendor};
use std::{io, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::sleep};

/// Pause after a worker could not be started, so that a broken host is not kept busy.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs jobs on every device until the server stops; then jobs in progress wait again.
pub(crate) async fn schedule(runner: Arc<Runner>, store: Store, shutdown: Shutdown) {
    let mut loops = JoinSet::new();
    let devices = runner.devices();
    let gpus = devices.iter().any(|device| device.vendor != Vendor::Cpu);
    for (slot, device) in devices.into_iter().enumerate() {
        let device_loop = DeviceLoop {
            runner: runner.clone(),
            store: store.clone(),
            shutdown: shutdown.clone(),
            slot,
            // Whoever has a GPU and names no device means the GPU, even if it is busy.
            unassigned: device.vendor != Vendor::Cpu || !gpus,
            device,
        };
        loops.spawn(device_loop.serve());
    }
    while let Some(ended) = loops.join_next().await {
        if let Err(error) = ended {
            tracing::error!("a device is not served any more: {error}");
        }
    }
}

struct DeviceLoop {
    runner: Arc<Runner>,
    store: Store,
    shutdown: Shutdown,
    slot: usize,
    device: Device,
    /// Whether it takes jobs that name no device.
    unassigned: bool,
}

impl DeviceLoop {
    async fn serve(mut self) {
        let mut failures = 0;
        while let Some(worker) = self.warm().await {
            match worker {
                Ok(worker) => {
                    failures = 0;
                    self.serve_one(worker).await;
                }
                Err(error) => {
                    failures += 1;
                    tracing::error!("no worker for {}: {error}", self.device.id);
                    // One may have been killed, or ended with the server.
                    if failures > 1 && !self.shutdown.is_requested() {
                        self.fail_one(&error).await;
                    }
                    tokio::select! {
                        () = sleep(PAUSE) => {}
                        () = self.shutdown.requested() => {}
                    }
                }
            }
        }
    }

    /// A worker that is ready; none once the server stops.
    async fn warm(&mut self) -> Option<io::Result<Worker>> {
        if self.shutdown.is_requested() {
            return None;
        }
        let mut worker = match Worker::start(&self.runner, self.slot, &self.device).await {
            Ok(worker) => worker,
            Err(error) => return Some(Err(error)),
        };
        let ready = tokio::select! {
            ready = worker.ready() => Some(ready),
            () = self.shutdown.requested() => None,
        };
        match ready {
            Some(Ok(())) => Some(Ok(worker)),
            failed_or_stopped => {
                worker.end().await;
                failed_or_stopped.and_then(Result::err).map(Err)
            }
        }
    }

    async fn serve_one(&mut self, mut worker: Worker) {
        let mut queue = self.runner.watch_queue();
        let mut shutdown = self.shutdown.clone();
        let lease = loop {
            queue.mark_unchanged();
            // A stopping server begins nothing.
            if !shutdown.is_requested()
                && let Some(lease) = self.claim().await
            {
                break lease;
            }
            tokio::select! {
                biased;
                // First: no job is for a dead worker.
                () = worker.died() => {
                    tracing::warn!("an idle worker for {} died", self.device.id);
                    worker.end().await;
                    return;
                }
                () = shutdown.requested() => {
                    worker.end().await;
                    return;
                }
                _ = queue.changed() => {}
            }
        };
        let stop = self.runner.started(&lease.job, &self.device);
        tracing::info!(
            job = lease.job,
            attempt = lease.attempt,
            "runs on {}",
            self.device.id
        );
        if self.ended_meanwhile(&lease).await {
            worker.end().await;
            self.runner.ended(&self.device);
            return;
        }
        let settings = &self.runner.settings;
        let run = worker.run(
            &self.store,
            settings,
            &lease,
            &self.device,
            &stop,
            &mut shutdown,
        );
        let outcome = run.await;
        self.runner.ended(&self.device);
        if outcome == Outcome::Interrupted {
            tracing::info!(job = lease.job, "waits again");
            self.runner.queue_changed();
        }
    }

    /// Whether the job was cancelled between its lease and the moment it could be stopped.
    async fn ended_meanwhile(&self, lease: &Lease) -> bool {
        let job = lease.job.clone();
        let summary = self.store.with(move |store| store.summary(&job)).await;
        matches!(summary, Ok(Some(summary)) if summary.state.is_final())
    }

    /// Without workers a waiting job is told so, rather than left to wait for ever.
    async fn fail_one(&self, error: &io::Error) {
        if let Some(lease) = self.claim().await {
            let failed = failure::no_worker(&error.to_string());
            let result = self
                .store
                .with(move |store| store.append(&lease, &[failed]))
                .await;
            if let Err(error) = result {
                tracing::error!("{error}");
            }
        }
    }

    async fn claim(&self) -> Option<Lease> {
        let (device, unassigned) = (self.device.clone(), self.unassigned);
        let claim = self
            .store
            .with(move |store| store.claim(&device, unassigned));
        match claim.await {
            Ok(lease) => lease,
            Err(error) => {
                tracing::error!("cannot look for a job: {error}");
                None
            }
        }
    }
}
