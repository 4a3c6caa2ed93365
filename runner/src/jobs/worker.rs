//! One worker: a Python behind its fence that has imported PyTorch and waits for its one job. This
//! file turns what it writes into events, and its end into the job's end.

use super::{
    failure,
    heard::{Heard, listen},
    id,
    output::{self, Output},
    private_directory::PrivateDirectory,
    runner::{Runner, Settings},
    store::{Lease, Store, StoreError},
};
use crate::{
    devices::name_in_worker,
    isolation::{self, Ending, Sandboxed},
    shutdown::Shutdown,
    statistics::{self, Samples},
};
use hipward_protocol::{
    Device, EventBody, HarnessJob, HarnessLine, Isolation, Measurement, Vendor,
};
use std::{future::pending, io, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    sync::{Notify, mpsc},
    time::{Instant, interval, sleep_until, timeout},
};

/// The worker's program.
const MODULE: &str = "hipward_kernels.harness.worker";
/// Importing PyTorch takes long on a cold disk.
const WARM_UP: Duration = Duration::from_secs(180);
/// Output is handed on this often.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);
/// A worker that has said its last line gets this long to leave by itself.
const FAREWELL: Duration = Duration::from_millis(300);
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
    /// The job waits again: the server is shutting down, or the worker was dead before the job began.
    Interrupted,
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

    /// Kills it and waits until nothing of it is left.
    pub(super) async fn end(mut self) {
        self.process.kill().await;
        let everything = async { while self.heard.recv().await.is_some() {} };
        if timeout(DYING, everything).await.is_err() {
            tracing::warn!("a worker takes long to die; its device stays reserved");
        }
        if let Err(error) = self.process.gone().await {
            tracing::warn!("cannot wait for a worker: {error}");
        }
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
        let mut run = Run {
            store,
            settings,
            lease,
            isolation: &self.isolation,
            samples: Samples::default(),
            output: Output::default(),
            nonce: nonce.as_deref().unwrap_or_default().to_owned(),
            conclusion: None,
            ending: None,
            fenced: false,
        };
        let handed_over = match nonce {
            Ok(nonce) => hand_over(&mut self.process, settings, lease, device, nonce).await,
            Err(error) => Err(error),
        };
        if let Err(error) = handed_over {
            // Whatever ended the worker, it was not this job.
            run.interrupt(format!("its worker was dead before it began ({error})"))
                .await;
            self.end().await;
            return Outcome::Interrupted;
        }
        let mut interrupted = false;
        let mut deadline = None;
        let mut tick = interval(OUTPUT_EVERY);
        let mut killed = false;
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
                () = until(deadline) => {
                    if killed {
                        break;
                    }
                    killed = true;
                    self.process.kill().await;
                    deadline = Some(Instant::now() + DYING);
                }
            }
        }
        run.hand_output_on(true).await;
        let outcome = if interrupted && run.conclusion.is_none() {
            let reason = "the runner was stopped while this job ran";
            run.interrupt(reason.to_owned()).await;
            Outcome::Interrupted
        } else {
            run.end().await;
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

/// One job in progress.
struct Run<'a> {
    store: &'a Store,
    settings: &'a Settings,
    lease: &'a Lease,
    isolation: &'a Isolation,
    samples: Samples,
    output: Output,
    /// The secret that the harness was given: a line without it is from somebody else.
    nonce: String,
    /// The final event, once it is known.
    conclusion: Option<EventBody>,
    ending: Option<Ending>,
    /// Somebody else has ended the job: nothing more may be written.
    fenced: bool,
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        self.fenced || self.conclusion.is_some() || self.ending.is_some()
    }

    /// How long the worker may go on by itself.
    fn grace(&self) -> Duration {
        match self.conclusion {
            Some(EventBody::Done) if !self.fenced => FAREWELL,
            _ => Duration::ZERO,
        }
    }

    fn conclude(&mut self, conclusion: EventBody) {
        self.conclusion.get_or_insert(conclusion);
    }

    async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Printed(stream, bytes) => {
                if !self.output.push(stream, &bytes) {
                    self.conclude(failure::too_much_output(output::MOST));
                }
            }
            Heard::Line(message) if self.conclusion.is_none() => {
                if message.nonce.as_deref() == Some(self.nonce.as_str()) {
                    self.follow(message.line).await;
                } else {
                    self.conclude(failure::not_a_line("a line without the job's secret"));
                }
            }
            Heard::Garbage(problem) if self.ending.is_none() => {
                self.conclude(failure::not_a_line(&problem));
            }
            Heard::Line(_) | Heard::Garbage(_) => {}
            Heard::Ended(ending) => self.ending = Some(ending),
            Heard::Lost(how) => self.conclude(failure::lost(&how)),
        }
    }

    async fn follow(&mut self, line: HarnessLine) {
        self.hand_output_on(false).await;
        match self.events(line) {
            Ok((events, conclusion)) => {
                self.append(events).await;
                if let Some(conclusion) = conclusion {
                    self.conclude(conclusion);
                }
            }
            Err(problem) => self.conclude(failure::not_a_line(problem)),
        }
    }

    /// The events that a line amounts to, and the final one if it is the last line.
    fn events(
        &mut self,
        line: HarnessLine,
    ) -> Result<(Vec<EventBody>, Option<EventBody>), &'static str> {
        let event = match line {
            HarnessLine::Ready => return Err("it said twice that it is ready"),
            HarnessLine::Measured(mut measurement) => {
                self.note(&mut measurement)?;
                EventBody::Measured(measurement)
            }
            HarnessLine::Sampled {
                variant,
                stop,
                dropped,
            } => {
                let mut stats = statistics::summarize(&self.samples.all(&variant), stop, dropped)
                    .ok_or("a rung that was sampled without samples")?;
                stats.floor_share = self.samples.floor_ms().map(|floor| floor / stats.median);
                EventBody::VariantDone { variant, stats }
            }
            HarnessLine::Error(failure) => {
                return Ok((Vec::new(), Some(EventBody::Failed(failure))));
            }
            HarnessLine::Finished => {
                let verdict = statistics::verdict(&self.samples).map(EventBody::Verdict);
                return Ok((verdict.into_iter().collect(), Some(EventBody::Done)));
            }
        };
        Ok((vec![event], None))
    }

    /// Keeps what statistics need, and adds to the conditions what only the runner knows.
    fn note(&mut self, measurement: &mut Measurement) -> Result<(), &'static str> {
        match measurement {
            Measurement::Environment(environment) => {
                environment.isolation = Some(self.isolation.clone());
                environment.code_sha256.clone_from(&self.lease.code_sha256);
                env!("CARGO_PKG_VERSION").clone_into(&mut environment.hipward);
            }
            Measurement::Rungs { rungs } => self.samples.announce(rungs),
            Measurement::Roofline(roofline) => {
                if !(roofline.floor_ms.is_finite() && roofline.floor_ms >= 0.0) {
                    return Err("a floor that is not a length of time");
                }
                self.samples.set_floor(roofline.floor_ms);
            }
            Measurement::Samples { variant, round, ms } => {
                if !ms.iter().all(|ms| ms.is_finite() && *ms > 0.0) {
                    return Err("a sample that is not a length of time");
                }
                self.samples.add(variant, *round, ms);
            }
            Measurement::Unavailable { .. }
            | Measurement::Precision { .. }
            | Measurement::Compile { .. }
            | Measurement::Caution { .. }
            | Measurement::Hot { .. } => {}
        }
        Ok(())
    }

    async fn hand_output_on(&mut self, last: bool) {
        let events = self.output.take(last);
        self.append(events).await;
    }

    async fn append(&mut self, events: Vec<EventBody>) {
        if events.is_empty() || self.fenced {
            return;
        }
        let lease = self.lease.clone();
        match self
            .store
            .with(move |store| store.append(&lease, &events))
            .await
        {
            Ok(()) => {}
            Err(StoreError::Fenced) => self.fenced = true,
            Err(error) => {
                tracing::error!("job {}: {error}", self.lease.job);
                self.conclude(failure::lost(&error.to_string()));
            }
        }
    }

    /// Writes the final event.
    async fn end(&mut self) {
        let over_limit = match self.ending {
            Some(ending @ Ending::OverLimit(_)) => Some(ending),
            _ => None,
        };
        let conclusion = match (over_limit, self.conclusion.take(), self.ending) {
            // What a snippet said while it was being stopped for a limit is not the reason.
            (Some(ending), Some(EventBody::Failed(_)) | None, _) => {
                failure::ended_early(ending, self.settings)
            }
            (_, Some(conclusion), _) => conclusion,
            (None, None, Some(ending)) => failure::ended_early(ending, self.settings),
            (None, None, None) => failure::lost("its supervisor died"),
        };
        self.append(vec![conclusion]).await;
    }

    async fn interrupt(&mut self, reason: String) {
        let lease = self.lease.clone();
        let result = self
            .store
            .with(move |store| store.interrupt(&lease, &reason))
            .await;
        match result {
            Ok(()) | Err(StoreError::Fenced) => {}
            Err(error) => tracing::error!("job {}: {error}", self.lease.job),
        }
    }
}
