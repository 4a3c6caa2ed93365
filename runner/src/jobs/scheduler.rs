//! One loop per device: keep a worker warm, lease the next job, run it, start over. The next worker
//! is warmed after a job and never beside it, where it would disturb the timings. Beside the loops, jobs that run nowhere
//! are looked for.

use super::{
    failure,
    persist::persist,
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

/// Attempts in a row to start a job on a device's workers before the job fails with the reason.
const MOST_NOT_BEGUN: u32 = 3;
/// How often jobs that run nowhere are looked for. One is lost when it was found twice.
const LOOK_FOR_LOST_EVERY: Duration = Duration::from_secs(30);

/// Runs jobs on every device until the server stops; then jobs in progress wait again.
pub(crate) async fn schedule(runner: Arc<Runner>, store: Store, shutdown: Shutdown) {
    let looking = tokio::spawn(look_for_lost(
        runner.clone(),
        store.clone(),
        shutdown.clone(),
    ));
    let mut loops = JoinSet::new();
    let devices = runner.devices();
    let gpus = devices.iter().any(|device| device.vendor != Vendor::Cpu);
    for (slot, device) in devices.into_iter().enumerate() {
        let device_loop = DeviceLoop {
            runner: runner.clone(),
            store: store.clone(),
            shutdown: shutdown.clone(),
            slot,
            not_begun: 0,
            // Whoever has a GPU and names no device means the GPU, even if it is busy.
            unassigned: device.vendor != Vendor::Cpu || !gpus,
            device,
        };
        loops.spawn(device_loop.serve());
    }
    while let Some(ended) = loops.join_next().await {
        if let Err(error) = ended {
            tracing::error!("a device is not served any more: {error}");
            runner.lost_a_device();
        }
    }
    let _ = looking.await;
}

/// Ends or requeues jobs that are stored as running and run nowhere: their device's loop has died, or their end could not
/// be stored.
async fn look_for_lost(runner: Arc<Runner>, store: Store, mut shutdown: Shutdown) {
    let mut suspects: Vec<String> = Vec::new();
    loop {
        tokio::select! {
            () = sleep(LOOK_FOR_LOST_EVERY) => {}
            () = shutdown.requested() => return,
        }
        let stored = store.with(|store| store.running()).await;
        let Ok(stored) = stored else { continue };
        let running = runner.running_jobs();
        let (lost, new): (Vec<String>, Vec<String>) = stored
            .iter()
            .filter(|job| !running.contains(job))
            .cloned()
            .partition(|job| suspects.contains(job));
        suspects = new;
        if lost.is_empty() {
            continue;
        }
        let kept: Vec<String> = stored
            .into_iter()
            .filter(|job| !lost.contains(job))
            .collect();
        let reason = "the runner lost this job while it ran";
        let recovered = store
            .with(move |store| store.recover_all_but(&kept, reason))
            .await;
        match recovered {
            Ok(_) => tracing::warn!("jobs that ran nowhere: {}", lost.join(", ")),
            Err(error) => tracing::error!("cannot end jobs that run nowhere: {error}"),
        }
        runner.queue_changed();
    }
}

struct DeviceLoop {
    runner: Arc<Runner>,
    store: Store,
    shutdown: Shutdown,
    slot: usize,
    device: Device,
    /// Workers in a row that did not begin with their job.
    not_begun: u32,
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
            if worker.is_dead() {
                tracing::warn!("an idle worker for {} died", self.device.id);
                worker.end().await;
                return;
            }
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
        let running = self.runner.started(&lease.job, &self.device);
        tracing::info!(
            job = lease.job,
            attempt = lease.attempt,
            "runs on {}",
            self.device.id
        );
        if self.ended_meanwhile(&lease).await {
            worker.end().await;
            return;
        }
        let settings = &self.runner.settings;
        let run = worker.run(
            &self.store,
            settings,
            &lease,
            &self.device,
            &running.stop,
            &mut shutdown,
        );
        let outcome = run.await;
        drop(running);
        match outcome {
            Outcome::Concluded => self.not_begun = 0,
            Outcome::Interrupted => {}
            Outcome::NotBegun => self.not_begun += 1,
        }
        if outcome != Outcome::Concluded {
            tracing::info!(job = lease.job, "waits again");
            self.runner.queue_changed();
        }
        if self.not_begun >= MOST_NOT_BEGUN {
            self.not_begun = 0;
            let error = io::Error::other("workers start, and then do not answer");
            self.fail_one(&error).await;
        }
    }

    /// Whether the job was cancelled between its lease and the moment it could be stopped.
    async fn ended_meanwhile(&self, lease: &Lease) -> bool {
        let job = lease.job.clone();
        let summary = self.store.with(move |store| store.summary(&job)).await;
        matches!(summary, Ok(Some(summary)) if summary.state.is_final())
    }

    /// Without workers a waiting job is told so, rather than left to wait for ever.
    async fn fail_one(&mut self, error: &io::Error) {
        if let Some(lease) = self.claim().await {
            let failed = failure::no_worker(&error.to_string());
            let job = lease.job.clone();
            persist(&self.store, &mut self.shutdown, &job, move |store| {
                store.append(&lease, std::slice::from_ref(&failed))
            })
            .await;
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
