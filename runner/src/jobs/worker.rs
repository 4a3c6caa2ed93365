//! One worker: an isolated Python process that has imported PyTorch and runs one job. This
//! module starts and kills it and sends the job; `run.rs` handles its messages.

use super::{
    private_directory::PrivateDirectory,
    random_id,
    run::Run,
    runner::{Runner, Settings},
    store::{Lease, StoreError},
    work_source::{RENEW_INTERVAL, RENEW_RETRY, RENEW_TIMEOUT, WorkSource},
    worker_output::{WorkerMessage, read_worker},
};
use crate::{
    devices::name_in_worker,
    isolation::{self, ExitReason, Limit, Sandboxed},
    shutdown::Shutdown,
};
use hipward_protocol::{Device, EventBody, HarnessJob, HarnessLine, Isolation, Vendor};
use std::{future::pending, io, sync::Arc, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::{Instant, interval, sleep, sleep_until, timeout},
};

/// The Python module of the worker.
pub(super) const MODULE: &str = "hipward_kernels.harness.worker";
/// Importing PyTorch takes long on a cold disk.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(180);
/// Interval at which output is added to the event log.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(100);
/// Time within which a worker must accept its job. It only has to read a line.
const FIRST_LINE_TIMEOUT: Duration = Duration::from_secs(15);
/// The supervisor stops a job at its time limit. The server stops it this long after, if the supervisor has not.
const WALL_LIMIT_GRACE: Duration = Duration::from_secs(5);
/// Time after which the end of a job no longer waits for killed processes. Only a GPU driver takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A worker that has imported PyTorch.
#[derive(Debug)]
pub(super) struct Worker {
    process: Sandboxed,
    messages: mpsc::Receiver<WorkerMessage>,
    isolation: Isolation,
    /// Removed with the worker.
    _directory: PrivateDirectory,
}

/// What a worker runs.
pub(super) struct Task<'a> {
    /// The job.
    pub(super) lease: &'a Lease,
    /// The worker's device.
    pub(super) device: &'a Device,
    /// An event that precedes those of the job's code.
    pub(super) warning: Option<EventBody>,
    /// Stops the job. Its final event must be stored already.
    pub(super) stop: &'a Arc<Notify>,
}

/// The result of a run, for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunOutcome {
    /// The job has its final event.
    Finished,
    /// The job is queued again, because the server is stopping.
    Interrupted,
    /// The job is queued again, because the worker did not start it.
    NotStarted,
}

impl Worker {
    /// Starts a worker for this device.
    pub(super) async fn start(runner: &Runner, slot: usize, device: &Device) -> io::Result<Self> {
        let prepared = runner.spec(slot, device.vendor != Vendor::Cpu, MODULE)?;
        let mut process = isolation::spawn(prepared.spec).await?;
        Ok(Worker {
            messages: read_worker(&mut process)?,
            process,
            isolation: prepared.isolation,
            _directory: prepared.directory,
        })
    }

    /// Waits until the worker has imported PyTorch.
    pub(super) async fn ready(&mut self) -> io::Result<()> {
        let too_long = |_| Err(io::Error::other("importing PyTorch took too long"));
        timeout(WARM_UP_TIMEOUT, self.warm_up())
            .await
            .unwrap_or_else(too_long)
    }

    async fn warm_up(&mut self) -> io::Result<()> {
        let mut output = Vec::new();
        loop {
            let problem = match self.messages.recv().await {
                Some(WorkerMessage::Line(message)) if message.line == HarnessLine::Ready => {
                    return Ok(());
                }
                Some(WorkerMessage::Output(_, bytes)) => {
                    output.extend(bytes);
                    continue;
                }
                Some(WorkerMessage::Line(message)) => match message.line {
                    HarnessLine::Error(failure) => failure.message,
                    other => format!("it sent {other:?} before it was ready"),
                },
                Some(WorkerMessage::Invalid(problem) | WorkerMessage::SupervisorLost(problem)) => {
                    problem
                }
                // The output may still contain the reason.
                Some(WorkerMessage::Exited(_)) => continue,
                None => {
                    let output = String::from_utf8_lossy(&output);
                    output
                        .lines()
                        .last()
                        .unwrap_or("it ended without any output")
                        .to_owned()
                }
            };
            return Err(io::Error::other(problem));
        }
    }

    /// Resolves when an idle worker dies.
    pub(super) async fn died(&mut self) {
        while let Some(message) = self.messages.recv().await {
            if let WorkerMessage::Exited(_) | WorkerMessage::SupervisorLost(_) = message {
                return;
            }
        }
    }

    /// Whether the worker is known to be dead.
    pub(super) fn is_dead(&mut self) -> bool {
        while let Ok(message) = self.messages.try_recv() {
            if let WorkerMessage::Exited(_) | WorkerMessage::SupervisorLost(_) = message {
                return true;
            }
        }
        !self.process.is_running()
    }

    /// Kills the worker and waits until all of its processes have ended.
    pub(super) async fn end(mut self) {
        self.process.kill().await;
        let pipes_closed = async { while self.messages.recv().await.is_some() {} };
        if timeout(KILL_TIMEOUT, pipes_closed).await.is_err() {
            tracing::warn!("a worker does not end; its device stays reserved");
        }
        if let Err(error) = self.process.wait().await {
            tracing::warn!("cannot wait for a worker: {error}");
        }
    }

    /// Runs one job to its end.
    pub(super) async fn run(
        mut self,
        source: &Arc<dyn WorkSource>,
        settings: &Settings,
        task: Task<'_>,
        shutdown: &mut Shutdown,
    ) -> RunOutcome {
        let Task {
            lease,
            device,
            warning,
            stop,
        } = task;
        let _renewal = source
            .leases_expire()
            .then(|| Renewal::start(source.clone(), lease.clone(), stop.clone()));
        let nonce = random_id::random_id().map_err(io::Error::other);
        let supervisor = self.process.supervisor_id();
        let mut run = Run::new(
            source.as_ref(),
            settings,
            lease,
            device,
            self.isolation.clone(),
            supervisor,
            warning,
        );
        run.record_host_load().await;
        let handed_over = match nonce {
            Ok(nonce) => {
                run.begin(nonce.clone());
                send_job(&mut self.process, settings, lease, device, nonce).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = handed_over {
            // The worker ended before it received the job.
            let reason = format!("its worker died before the job started ({error})");
            run.requeue(reason, shutdown).await;
            self.end().await;
            return RunOutcome::NotStarted;
        }
        let mut interrupted = false;
        let mut deadline = None;
        let mut tick = interval(OUTPUT_INTERVAL);
        let mut killed = false;
        let first_line = Instant::now() + FIRST_LINE_TIMEOUT;
        // The supervisor's limit ends earlier, unless the supervisor is blocked.
        let over_time = Instant::now() + settings.wall_limit + WALL_LIMIT_GRACE;
        loop {
            if run.is_over() && deadline.is_none() {
                deadline = Some(Instant::now() + run.grace());
            }
            tokio::select! {
                message = self.messages.recv() => match message {
                    Some(message) => run.handle_message(message).await,
                    // Every pipe is closed: no process is left.
                    None => break,
                },
                _ = tick.tick() => run.flush_output(false).await,
                () = stop.notified(), if !killed => {
                    run.fenced = true;
                }
                () = shutdown.requested(), if !interrupted => {
                    interrupted = true;
                    deadline = Some(Instant::now());
                }
                () = sleep_until(first_line), if !run.has_started() && deadline.is_none() => {
                    run.exit_reason = Some(ExitReason::Killed);
                }
                () = sleep_until(over_time), if run.exit_reason.is_none() && deadline.is_none() => {
                    run.exit_reason = Some(ExitReason::OverLimit(Limit::WallClock));
                }
                () = until(deadline) => {
                    if killed {
                        break;
                    }
                    killed = true;
                    self.process.kill().await;
                    deadline = Some(Instant::now() + KILL_TIMEOUT);
                }
            }
        }
        run.flush_output(true).await;
        let outcome = if interrupted && run.conclusion.is_none() {
            let reason = "the runner was stopped while this job ran";
            run.requeue(reason.to_owned(), shutdown).await;
            RunOutcome::Interrupted
        } else if !run.has_started() && !run.fenced {
            // No code of the job has run, so the job is not the cause.
            let reason = match run.exit_reason {
                Some(ExitReason::Killed) => "its worker did not answer",
                _ => "its worker died before the job started",
            };
            run.requeue(reason.to_owned(), shutdown).await;
            RunOutcome::NotStarted
        } else {
            run.end(shutdown).await;
            RunOutcome::Finished
        };
        self.end().await;
        outcome
    }
}

/// The task that renews the lease of a running job. Ends with its drop.
struct Renewal(JoinHandle<()>);

impl Renewal {
    /// Renews the lease at intervals, and stops the job if the lease has ended.
    fn start(source: Arc<dyn WorkSource>, lease: Lease, stop: Arc<Notify>) -> Self {
        Renewal(tokio::spawn(async move {
            let mut pause = RENEW_INTERVAL;
            loop {
                sleep(pause).await;
                let renewed = timeout(RENEW_TIMEOUT, source.renew(&lease)).await;
                pause = match renewed {
                    Ok(Ok(())) => RENEW_INTERVAL,
                    Ok(Err(StoreError::Fenced)) => {
                        stop.notify_one();
                        return;
                    }
                    // The job goes on: the source may be reachable again before it ends.
                    Ok(Err(error)) => {
                        tracing::warn!("job {}: its lease was not renewed: {error}", lease.job);
                        RENEW_RETRY
                    }
                    Err(_) => {
                        tracing::warn!(
                            "job {}: the renewal of its lease is not answered",
                            lease.job
                        );
                        RENEW_RETRY
                    }
                };
            }
        }))
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn send_job(
    process: &mut Sandboxed,
    settings: &Settings,
    lease: &Lease,
    device: &Device,
    nonce: String,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&HarnessJob {
        code: lease.code.clone(),
        variants: lease.variants.clone(),
        device: name_in_worker(device),
        time_cap_s: settings.time_cap_s,
        time_limit_s: Some(settings.wall_limit.as_secs_f64()),
        nonce: Some(nonce),
    })?;
    line.push(b'\n');
    process.start_clock(settings.wall_limit).await?;
    let stdin = process.stdin.take();
    let mut stdin =
        stdin.ok_or_else(|| io::Error::other("the worker has already received a job"))?;
    stdin.write_all(&line).await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
