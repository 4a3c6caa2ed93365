//! One loop per device: warm up a worker, lease the next job, run it, repeat. The next worker
//! is warmed up after a job and never during one, nor during a job on the processor, because that would disturb the timings. A separate task recovers jobs that
//! are stored as running but run nowhere.

use super::{
    cpp_headers, failure_messages,
    host_facts::machine_name,
    lease_messages::FreeDevice,
    persist::persist,
    runner::{Activity, Runner},
    store::{Lease, Store, StoreError},
    work_source::WorkSource,
    worker::{RunOutcome, Task, Worker},
};
use crate::{devices, shutdown::Shutdown};
use hipward_protocol::{Device, EventBody, Measurement, Vendor};
use std::{
    env, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

/// Delay after a worker could not be started, so that a broken host is not overloaded.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Consecutive workers of a device that may fail to start their job before a job fails with the reason.
const MAX_NOT_STARTED: u32 = 3;
/// Load in percent up to which a GPU is idle.
const IDLE_LOAD: u32 = 10;
/// Time for which a job waits for another program on its GPU. After that it runs with a warning.
const MAX_IDLE_WAIT: Duration = Duration::from_secs(60);
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the check for lost jobs. A job is lost when two checks in a row find it running nowhere.
const LOST_JOB_INTERVAL: Duration = Duration::from_secs(30);

/// Runs the jobs of this server's store on every device until the server stops. Jobs in progress are then queued again.
pub(crate) async fn schedule(runner: Arc<Runner>, store: Store, shutdown: Shutdown) {
    let looking = tokio::spawn(recover_lost_jobs(
        runner.clone(),
        store.clone(),
        shutdown.clone(),
    ));
    run_jobs(runner, Arc::new(store), shutdown).await;
    let _ = looking.await;
}

/// Runs the jobs of a source on every device until the server stops. Jobs in progress are then queued again.
pub(crate) async fn run_jobs(runner: Arc<Runner>, source: Arc<dyn WorkSource>, shutdown: Shutdown) {
    let mut loops = JoinSet::new();
    let all = runner.devices();
    let gpus = all.iter().any(|device| device.vendor != Vendor::Cpu);
    for (slot, device) in all.into_iter().enumerate() {
        let load = devices::load_file(Path::new("/sys"), &device, |name| env::var(name).ok());
        let device_loop = DeviceLoop {
            load,
            runner: runner.clone(),
            source: source.clone(),
            shutdown: shutdown.clone(),
            slot,
            not_started: 0,
            // Beside a GPU, jobs on the processor are rare, and a compiler would disturb those on the GPU.
            needs_headers: !gpus,
            free: FreeDevice {
                host: machine_name(),
                device: device.clone(),
                // On a host with a GPU, jobs without a device run on the GPU, even if it is busy.
                unassigned: device.vendor != Vendor::Cpu || !gpus,
                facts: runner.facts(),
            },
            device,
        };
        loops.spawn(device_loop.serve());
    }
    join(loops, &runner.activity).await;
}

/// Waits until the loops of all devices have ended, and records those that have failed.
async fn join(mut loops: JoinSet<()>, activity: &Activity) {
    while let Some(ended) = loops.join_next().await {
        if let Err(error) = ended {
            tracing::error!("the scheduler of a device has failed: {error}");
            activity.device_lost();
        }
    }
}

/// Requeues or fails jobs that are stored as running and run nowhere: the loop of their device has failed, or their end could not
/// be stored.
async fn recover_lost_jobs(runner: Arc<Runner>, store: Store, mut shutdown: Shutdown) {
    let mut suspects: Vec<String> = Vec::new();
    loop {
        tokio::select! {
            () = sleep(LOST_JOB_INTERVAL) => {}
            () = shutdown.requested() => return,
        }
        let stored = store.with(|store| store.running()).await;
        let Ok(stored) = stored else { continue };
        let running = runner.activity.running_jobs();
        let (lost, new): (Vec<String>, Vec<String>) = stored
            .iter()
            .filter(|job| !running.contains(job))
            .cloned()
            .partition(|job| suspects.contains(job));
        suspects = new;
        if lost.is_empty() {
            continue;
        }
        let running: Vec<String> = stored
            .into_iter()
            .filter(|job| !lost.contains(job))
            .collect();
        let reason = "the runner lost this job while it ran";
        let recovered = store
            .with(move |store| store.recover_all_but(&running, reason))
            .await;
        match recovered {
            Ok(_) => tracing::warn!("recovered jobs that ran nowhere: {}", lost.join(", ")),
            Err(error) => tracing::error!("cannot recover jobs that run nowhere: {error}"),
        }
    }
}

struct DeviceLoop {
    runner: Arc<Runner>,
    source: Arc<dyn WorkSource>,
    shutdown: Shutdown,
    slot: usize,
    device: Device,
    /// Consecutive workers that did not start their job.
    not_started: u32,
    /// Whether jobs on the device need C++ headers that were not looked for yet.
    needs_headers: bool,
    /// The device as the source of jobs gets it.
    free: FreeDevice,
    /// The file with the load of the device, where its driver has one.
    load: Option<PathBuf>,
}

impl DeviceLoop {
    async fn serve(mut self) {
        let mut failures = 0;
        while let Some(worker) = self.warm().await {
            match worker {
                Ok(worker) => {
                    failures = 0;
                    self.run_next_job(worker).await;
                }
                Err(error) => {
                    failures += 1;
                    tracing::error!("no worker for {}: {error}", self.device.id);
                    // A single failure may be a worker that was killed.
                    if failures > 1 && !self.shutdown.is_requested() {
                        self.fail_next_job(&error).await;
                    }
                    tokio::select! {
                        () = sleep(RETRY_DELAY) => {}
                        () = self.shutdown.requested() => {}
                    }
                }
            }
        }
    }

    /// Starts a worker and waits until it is ready. None once the server stops.
    async fn warm(&mut self) -> Option<io::Result<Worker>> {
        if self.shutdown.is_requested() {
            return None;
        }
        let _permit = tokio::select! {
            permit = self.runner.activity.warm_up_permit() => permit,
            () = self.shutdown.requested() => return None,
        };
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

    async fn run_next_job(&mut self, mut worker: Worker) {
        let mut queue = self.source.watch_work();
        let idle = sleep(cpp_headers::IDLE);
        tokio::pin!(idle);
        let mut shutdown = self.shutdown.clone();
        let (lease, load, permit) = loop {
            queue.mark_unchanged();
            if worker.is_dead() {
                tracing::warn!("an idle worker for {} died", self.device.id);
                worker.end().await;
                return;
            }
            let has_work = self.has_work().await;
            if has_work {
                let permit = tokio::select! {
                    permit = self.runner.activity.timing_permit(&self.device) => Some(permit),
                    () = shutdown.requested() => None,
                };
                let load = self.wait_until_idle().await;
                // The worker may have died meanwhile. A server that is stopping leases no job.
                if let Some(permit) = permit
                    && !worker.is_dead()
                    && !shutdown.is_requested()
                    && let Some(lease) = self.claim().await
                {
                    break (lease, load, permit);
                }
            }
            tokio::select! {
                biased;
                // Checked first, so that no job is leased for a dead worker.
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
                () = &mut idle, if self.needs_headers => {
                    self.needs_headers = false;
                    self.precompile_headers().await;
                }
                // The lease failed: the disk may be full for a while, and nothing announces that it no longer is.
                () = sleep(RETRY_DELAY), if has_work => {}
            }
        };
        let running = self.runner.activity.started(&lease.job, &self.device);
        tracing::info!(
            job = lease.job,
            attempt = lease.attempt,
            "running on {}",
            self.device.id
        );
        if self.has_ended(&lease).await {
            worker.end().await;
            return;
        }
        let settings = &self.runner.settings;
        let run = worker.run(
            &self.source,
            settings,
            Task {
                lease: &lease,
                device: &self.device,
                warning: load.map(load_warning),
                stop: &running.stop,
            },
            &mut shutdown,
        );
        let outcome = run.await;
        drop(running);
        drop(permit);
        match outcome {
            RunOutcome::Finished => self.not_started = 0,
            RunOutcome::Interrupted => {}
            RunOutcome::NotStarted => self.not_started += 1,
        }
        if outcome != RunOutcome::Finished {
            tracing::info!(job = lease.job, "queued again");
        }
        if self.not_started >= MAX_NOT_STARTED {
            self.not_started = 0;
            let error = io::Error::other("workers start but do not answer");
            self.fail_next_job(&error).await;
        }
    }

    /// Precompiles PyTorch's C++ headers. A job that arrives meanwhile waits, because it would be timed beside the compiler.
    async fn precompile_headers(&mut self) {
        let made = cpp_headers::precompile(&self.runner, &mut self.shutdown).await;
        if let Err(error) = made {
            tracing::info!("each job precompiles PyTorch's C++ headers for itself: {error}");
        }
    }

    /// Whether a job waits for this device. True if the source does not answer; the lease then reports the error.
    async fn has_work(&self) -> bool {
        let has_work = self.source.has_work(&self.free).await;
        has_work.unwrap_or(true)
    }

    /// Waits until no other program uses the device, at most [`MAX_IDLE_WAIT`]. Returns the load in percent if it is still used.
    async fn wait_until_idle(&self) -> Option<u32> {
        let file = self.load.as_ref()?;
        let mut shutdown = self.shutdown.clone();
        let start = Instant::now();
        loop {
            let percent = devices::load(file).await.filter(|&load| load > IDLE_LOAD)?;
            if start.elapsed() > MAX_IDLE_WAIT {
                return Some(percent);
            }
            tokio::select! {
                () = sleep(IDLE_CHECK_INTERVAL) => {}
                () = shutdown.requested() => return None,
            }
        }
    }

    /// Whether the job was cancelled between its lease and the moment it could be stopped.
    async fn has_ended(&self, lease: &Lease) -> bool {
        let renewed = self.source.renew(lease).await;
        matches!(renewed, Err(StoreError::Fenced))
    }

    /// Fails the next job, because without workers it would wait for ever.
    async fn fail_next_job(&mut self, error: &io::Error) {
        if let Some(lease) = self.claim().await {
            let failed = failure_messages::no_worker(&error.to_string());
            let source = self.source.as_ref();
            persist(&mut self.shutdown, &lease.job, || {
                source.append(&lease, 0, vec![failed.clone()])
            })
            .await;
        }
    }

    async fn claim(&self) -> Option<Lease> {
        match self.source.claim(&self.free).await {
            Ok(lease) => lease,
            Err(error) => {
                tracing::error!("cannot lease a job: {error}");
                None
            }
        }
    }
}

/// The warning in the result of a job on a device that another program uses.
fn load_warning(percent: u32) -> EventBody {
    EventBody::Measured(Measurement::Warning {
        text: format!(
            "Another program used this GPU ({percent} % busy) before the job started, so the times may be too long."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn loop_that_panics_is_a_lost_device() {
        let activity = Activity::default();
        let mut loops = JoinSet::new();
        loops.spawn(async { panic!("a defect of the loop") });
        loops.spawn(async {});
        join(loops, &activity).await;
        assert_eq!(activity.lost_devices(), 1);
    }
}
