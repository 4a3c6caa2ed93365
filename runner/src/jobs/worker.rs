//! One worker: a Python behind its fence that has imported PyTorch and waits for its one job. This
//! file starts it, hands the job over and sees to its end; what it says is `run.rs`'s.

use super::{
    heard::{Heard, listen},
    id,
    private_directory::PrivateDirectory,
    run::Run,
    runner::{Runner, Settings},
    store::{Lease, Store},
};
use crate::{
    devices::name_in_worker,
    isolation::{self, Ending, Limit, Sandboxed},
    shutdown::Shutdown,
};
use hipward_protocol::{Device, HarnessJob, HarnessLine, Isolation, Vendor};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{future::pending, io, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    sync::{Notify, mpsc},
    task::spawn_blocking,
    time::{Instant, interval, sleep_until, timeout},
};

/// The worker's program.
const MODULE: &str = "hipward_kernels.harness.worker";
/// Importing PyTorch takes long on a cold disk.
const WARM_UP: Duration = Duration::from_secs(180);
/// Output is handed on this often.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);
/// A worker that was handed a job says so within this time, however busy the host is: it only has to read a line.
const FIRST_LINE: Duration = Duration::from_secs(15);
/// A supervisor ends a job at its time limit. This long after, we do.
const OVERTIME: Duration = Duration::from_secs(5);
/// Dying takes longer than this only inside a GPU driver; the job's end is not held up for that.
const DYING: Duration = Duration::from_secs(10);

/// A worker that has imported PyTorch.
#[derive(Debug)]
pub(super) struct Worker {
    process: Sandboxed,
    heard: mpsc::Receiver<Heard>,
    isolation: Isolation,
    /// Removed with the worker.
    _directory: PrivateDirectory,
}

/// How a run ended, for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The job has its final event.
    Concluded,
    /// The job waits again: the server is shutting down.
    Interrupted,
    /// The job waits again: the worker did not begin with it.
    NotBegun,
}

impl Worker {
    /// Starts one for this device.
    pub(super) async fn start(runner: &Runner, slot: usize, device: &Device) -> io::Result<Self> {
        let prepared = runner.plan(slot, device.vendor != Vendor::Cpu, MODULE)?;
        let mut process = isolation::spawn(prepared.plan).await?;
        Ok(Worker {
            heard: listen(&mut process)?,
            process,
            isolation: prepared.isolation,
            _directory: prepared.directory,
        })
    }

    /// Waits until it has imported PyTorch.
    pub(super) async fn ready(&mut self) -> io::Result<()> {
        let too_long = |_| Err(io::Error::other("it took too long to import PyTorch"));
        timeout(WARM_UP, self.warm_up())
            .await
            .unwrap_or_else(too_long)
    }

    async fn warm_up(&mut self) -> io::Result<()> {
        let mut said = Vec::new();
        loop {
            let problem = match self.heard.recv().await {
                Some(Heard::Line(message)) if message.line == HarnessLine::Ready => return Ok(()),
                Some(Heard::Printed(_, bytes)) => {
                    said.extend(bytes);
                    continue;
                }
                Some(Heard::Line(message)) => match message.line {
                    HarnessLine::Error(failure) => failure.message,
                    other => format!("it said {other:?} before it was ready"),
                },
                Some(Heard::Garbage(problem) | Heard::Lost(problem)) => problem,
                // Why it ended may still be in its output.
                Some(Heard::Ended(_)) => continue,
                None => {
                    let said = String::from_utf8_lossy(&said);
                    said.lines()
                        .last()
                        .unwrap_or("it ended without a word")
                        .to_owned()
                }
            };
            return Err(io::Error::other(problem));
        }
    }

    /// Resolves when an idle worker dies.
    pub(super) async fn died(&mut self) {
        while let Some(heard) = self.heard.recv().await {
            if let Heard::Ended(_) | Heard::Lost(_) = heard {
                return;
            }
        }
    }

    /// Whether it is known to be dead.
    pub(super) fn is_dead(&mut self) -> bool {
        while let Ok(heard) = self.heard.try_recv() {
            if let Heard::Ended(_) | Heard::Lost(_) = heard {
                return true;
            }
        }
        !self.process.is_there()
    }

    /// Kills it and waits until nothing of it is left.
    pub(super) async fn end(mut self) {
        self.kill().await;
        let everything = async { while self.heard.recv().await.is_some() {} };
        if timeout(DYING, everything).await.is_err() {
            tracing::warn!("a worker takes long to die; its device stays reserved");
            self.kill_by_force().await;
        }
        if let Err(error) = self.process.gone().await {
            tracing::warn!("cannot wait for a worker: {error}");
        }
    }

    /// Has the supervisor kill everything.
    async fn kill(&mut self) {
        // One that was stopped does not read its orders.
        if let Some(supervisor) = self.supervisor() {
            let _ = kill(supervisor, Signal::SIGCONT);
        }
        self.process.kill().await;
    }

    /// Kills everything in place of a supervisor that is stopped again. One that runs is waited for: what does not die
    /// is held up in a driver, and the device must not be used until then.
    async fn kill_by_force(&self) {
        if let Some(supervisor) = self.supervisor().filter(|id| isolation::is_stopped(*id)) {
            // It sleeps between looks at what is left.
            let killed = spawn_blocking(move || isolation::kill_tree(supervisor));
            let _ = killed.await;
        }
    }

    fn supervisor(&self) -> Option<Pid> {
        let id = self.process.supervisor_id()?;
        Some(Pid::from_raw(id.cast_signed()))
    }

    /// Runs one job to its end.
    pub(super) async fn run(
        mut self,
        store: &Store,
        settings: &Settings,
        lease: &Lease,
        device: &Device,
        stop: &Notify,
        shutdown: &mut Shutdown,
    ) -> Outcome {
        let nonce = id::unguessable().map_err(io::Error::other);
        let supervisor = self.process.supervisor_id();
        let mut run = Run::new(
            store,
            settings,
            lease,
            device,
            self.isolation.clone(),
            supervisor,
        );
        run.look_at_host().await;
        let handed_over = match nonce {
            Ok(nonce) => {
                run.begin(nonce.clone());
                hand_over(&mut self.process, settings, lease, device, nonce).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = handed_over {
            // Whatever ended the worker, it was not this job.
            let reason = format!("its worker was dead before it began ({error})");
            run.requeue(reason, shutdown).await;
            self.end().await;
            return Outcome::NotBegun;
        }
        let mut interrupted = false;
        let mut deadline = None;
        let mut tick = interval(OUTPUT_EVERY);
        let mut killed = false;
        let first_line = Instant::now() + FIRST_LINE;
        // The supervisor's own limit comes before, unless it is held up.
        let over_time = Instant::now() + settings.wall_limit + OVERTIME;
        loop {
            if run.is_over() && deadline.is_none() {
                deadline = Some(Instant::now() + run.grace());
            }
            tokio::select! {
                heard = self.heard.recv() => match heard {
                    Some(heard) => run.hear(heard).await,
                    // Every pipe is closed: nothing of it is left.
                    None => break,
                },
                _ = tick.tick() => run.hand_output_on(false).await,
                () = stop.notified(), if !killed => {
                    run.fenced = true;
                }
                () = shutdown.requested(), if !interrupted => {
                    interrupted = true;
                    deadline = Some(Instant::now());
                }
                () = sleep_until(first_line), if !run.has_begun() && deadline.is_none() => {
                    run.ending = Some(Ending::Killed);
                }
                () = sleep_until(over_time), if run.ending.is_none() && deadline.is_none() => {
                    run.ending = Some(Ending::OverLimit(Limit::WallClock));
                }
                () = until(deadline) => {
                    if killed {
                        break;
                    }
                    killed = true;
                    self.kill().await;
                    deadline = Some(Instant::now() + DYING);
                }
            }
        }
        run.hand_output_on(true).await;
        let outcome = if interrupted && run.conclusion.is_none() {
            let reason = "the runner was stopped while this job ran";
            run.requeue(reason.to_owned(), shutdown).await;
            Outcome::Interrupted
        } else if !run.has_begun() && !run.fenced {
            // No code of the job has run, so nothing that happened is its doing.
            let reason = match run.ending {
                Some(Ending::Killed) => "its worker did not answer",
                _ => "its worker died before it began",
            };
            run.requeue(reason.to_owned(), shutdown).await;
            Outcome::NotBegun
        } else {
            run.end(shutdown).await;
            Outcome::Concluded
        };
        self.end().await;
        outcome
    }
}

async fn hand_over(
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
    process.begin(settings.wall_limit).await?;
    let stdin = process.stdin.take();
    let mut stdin = stdin.ok_or_else(|| io::Error::other("it was given a job before"))?;
    stdin.write_all(&line).await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
