//! One job in progress: what its worker says becomes events, and the worker's end becomes the job's end.

use super::{
    conversation::Conversation,
    failure,
    heard::Heard,
    load::Snapshot,
    output::{self, Output},
    persist::persist,
    runner::Settings,
    store::{Lease, Store, StoreError},
};
use crate::{
    isolation::{Ending, Limit},
    shutdown::Shutdown,
    statistics::{self, Samples, Setting},
};
use hipward_protocol::{
    Device, EventBody, HarnessLine, HostLoad, Isolation, Measurement, StopReason, VariantId, Vendor,
};
use std::{
    future::pending,
    mem,
    panic::resume_unwind,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::spawn_blocking;

/// A worker that has said its last line gets this long to leave by itself.
const FAREWELL: Duration = Duration::from_millis(300);

pub(super) struct Run<'a> {
    store: &'a Store,
    settings: &'a Settings,
    lease: &'a Lease,
    device: &'a Device,
    isolation: Isolation,
    /// The job's processes are below it.
    supervisor: Option<u32>,
    conversation: Conversation,
    samples: Arc<Samples>,
    output: Output,
    /// The secret that the harness was given: a line without it is from the snippet.
    nonce: String,
    handed_over: Instant,
    begun: bool,
    /// The host before the job.
    before: Option<Arc<Snapshot>>,
    /// The host when the timing began.
    timing: Option<Arc<Snapshot>>,
    /// What comes before the final event, in the same transaction.
    closing: Vec<EventBody>,
    /// The final event, once it is known.
    pub(super) conclusion: Option<EventBody>,
    pub(super) ending: Option<Ending>,
    /// Another attempt or a user has ended the job: nothing more may be written.
    pub(super) fenced: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        store: &'a Store,
        settings: &'a Settings,
        lease: &'a Lease,
        device: &'a Device,
        isolation: Isolation,
        supervisor: Option<u32>,
    ) -> Self {
        Run {
            store,
            settings,
            lease,
            device,
            isolation,
            supervisor,
            conversation: Conversation::new(&lease.variants),
            samples: Arc::default(),
            output: Output::default(),
            nonce: String::new(),
            handed_over: Instant::now(),
            begun: false,
            before: None,
            timing: None,
            closing: Vec::new(),
            conclusion: None,
            ending: None,
            fenced: false,
        }
    }

    /// Notes how busy the host is without the job.
    pub(super) async fn look_at_host(&mut self) {
        self.before = Some(self.snapshot().await);
    }

    /// The job is handed over, with the secret for its lines.
    pub(super) fn begin(&mut self, nonce: String) {
        self.nonce = nonce;
        self.handed_over = Instant::now();
    }

    /// Whether the worker has said anything about this job. Before its first line it runs no code of the job.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) fn is_over(&self) -> bool {
        self.fenced || self.conclusion.is_some() || self.ending.is_some()
    }

    /// How long the worker may go on by itself.
    pub(super) fn grace(&self) -> Duration {
        match self.conclusion {
            Some(EventBody::Done) if !self.fenced => FAREWELL,
            _ => Duration::ZERO,
        }
    }

    fn conclude(&mut self, conclusion: EventBody) {
        self.conclusion.get_or_insert(conclusion);
    }

    pub(super) async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Printed(stream, bytes) => {
                if !self.output.push(stream, &bytes) {
                    self.conclude(failure::too_much_output(output::MOST));
                }
            }
            Heard::Line(message) if self.conclusion.is_none() => {
                if message.nonce.as_deref() == Some(self.nonce.as_str()) {
                    self.begin_work().await;
                    self.follow(message.line).await;
                } else {
                    self.conclude(failure::not_a_line("a line without the job's secret"));
                }
            }
            Heard::Garbage(problem) if self.ending.is_none() => {
                self.conclude(failure::not_a_line(&problem));
            }
            Heard::Line(_) | Heard::Garbage(_) => {}
            // Not if we have ended it: it was killed for that.
            Heard::Ended(ending) => {
                self.ending.get_or_insert(ending);
            }
            Heard::Lost(how) => self.conclude(failure::lost(&how)),
        }
    }

    /// From now on a death of the server counts as a try of the job.
    async fn begin_work(&mut self) {
        if mem::replace(&mut self.begun, true) {
            return;
        }
        let lease = self.lease.clone();
        let begun = self.store.with(move |store| store.begun(&lease)).await;
        self.check(begun);
    }

    async fn follow(&mut self, line: HarnessLine) {
        self.hand_output_on(false).await;
        let passed = self.handed_over.elapsed();
        if let Err(violation) = self.conversation.take(&line, passed) {
            self.conclude(failure::impossible_line(&violation));
            return;
        }
        match line {
            HarnessLine::Ready | HarnessLine::Accepted => {}
            HarnessLine::Measured(mut measurement) => {
                self.note(&mut measurement).await;
                self.append(vec![EventBody::Measured(measurement)]).await;
            }
            HarnessLine::Sampled {
                variant,
                stop,
                dropped,
            } => {
                let done = self.variant_done(variant, stop, dropped).await;
                self.append(done.into_iter().collect()).await;
            }
            HarnessLine::Error(failure) => self.conclude(EventBody::Failed(failure)),
            HarnessLine::Finished => {
                self.closing = self.verdict().await.into_iter().collect();
                self.conclude(EventBody::Done);
            }
        }
    }

    async fn variant_done(
        &self,
        variant: VariantId,
        stop: StopReason,
        dropped: usize,
    ) -> Option<EventBody> {
        let samples = self.samples.clone();
        blocking(move || {
            let mut stats = statistics::summarize(&samples.all(&variant), stop, dropped)?;
            stats.floor_share = samples.floor_ms().map(|floor| floor / stats.median);
            Some(EventBody::VariantDone { variant, stats })
        })
        .await
    }

    async fn verdict(&self) -> Option<EventBody> {
        let setting = Setting {
            on_cpu: self.device.vendor == Vendor::Cpu,
            load: self.load_while_timed().await,
        };
        let samples = self.samples.clone();
        blocking(move || statistics::verdict(&samples, setting).map(EventBody::Verdict)).await
    }

    async fn load_while_timed(&self) -> Option<HostLoad> {
        let begin = self.timing.clone()?;
        Some(self.snapshot().await.since(&begin))
    }

    /// Keeps what statistics need, and adds to the conditions what only the runner knows.
    async fn note(&mut self, measurement: &mut Measurement) {
        match measurement {
            Measurement::Environment(environment) => {
                // The lease says which device it is; the child may say anything.
                environment.device_name.clone_from(&self.device.name);
                environment.arch.clone_from(&self.device.arch);
                environment.isolation = Some(self.isolation.clone());
                environment.code_sha256.clone_from(&self.lease.code_sha256);
                env!("CARGO_PKG_VERSION").clone_into(&mut environment.hipward);
                environment.load = match self.before.clone() {
                    Some(before) => Some(self.snapshot().await.before(&before)),
                    None => None,
                };
            }
            Measurement::Variants { variants } => self.samples().announce(variants),
            Measurement::Roofline(roofline) => self.samples().set_floor(roofline.floor_ms),
            Measurement::Samples { variant, round, ms } => {
                self.samples().add(variant, *round, ms);
                if self.timing.is_none() {
                    self.timing = Some(self.snapshot().await);
                }
            }
            Measurement::Unavailable { variant, .. }
            | Measurement::Precision {
                variant,
                passed: false,
                ..
            } => self.samples().withdraw(variant),
            Measurement::Precision { .. }
            | Measurement::Compile { .. }
            | Measurement::Caution { .. }
            | Measurement::Hot { .. } => {}
        }
    }

    /// Statistics that may still share them have ended: their results are waited for.
    fn samples(&mut self) -> &mut Samples {
        Arc::make_mut(&mut self.samples)
    }

    async fn snapshot(&self) -> Arc<Snapshot> {
        let supervisor = self.supervisor;
        blocking(move || Arc::new(Snapshot::take(supervisor))).await
    }

    pub(super) async fn hand_output_on(&mut self, last: bool) {
        let events = self.output.take(last);
        self.append(events).await;
    }

    async fn append(&mut self, events: Vec<EventBody>) {
        if events.is_empty() || self.fenced {
            return;
        }
        let lease = self.lease.clone();
        let appended = self
            .store
            .with(move |store| store.append(&lease, &events))
            .await;
        self.check(appended);
    }

    fn check(&mut self, stored: Result<(), StoreError>) {
        match stored {
            Ok(()) => {}
            Err(StoreError::Fenced) => self.fenced = true,
            Err(error) => {
                tracing::error!("job {}: {error}", self.lease.job);
                self.conclude(failure::not_stored(&error.to_string()));
            }
        }
    }

    /// Writes the final event.
    pub(super) async fn end(&mut self, shutdown: &mut Shutdown) {
        let over_limit = match self.ending {
            Some(ending @ Ending::OverLimit(_)) => Some(ending),
            _ => None,
        };
        let conclusion = match (over_limit, self.conclusion.take(), self.ending) {
            // What a snippet said while it was being stopped for a limit is not the reason.
            (Some(ending), Some(EventBody::Failed(_)) | None, _) => {
                if ending == Ending::OverLimit(Limit::WallClock) {
                    self.closing = self.measured_so_far().await;
                }
                match self.closing.is_empty() {
                    true => failure::ended_early(ending, self.settings),
                    false => failure::time_limit_while_timed(self.settings),
                }
            }
            (_, Some(conclusion), _) => conclusion,
            (None, None, Some(ending)) => failure::ended_early(ending, self.settings),
            (None, None, None) => failure::lost("its supervisor died"),
        };
        if self.fenced {
            return;
        }
        let lease = self.lease.clone();
        let mut last = mem::take(&mut self.closing);
        last.push(conclusion);
        persist(self.store, shutdown, &self.lease.job, move |store| {
            store.append(&lease, &last)
        })
        .await;
    }

    /// Statistics and a verdict of what was measured before the job was stopped.
    async fn measured_so_far(&self) -> Vec<EventBody> {
        let timed: Vec<VariantId> = self.samples.timed().into_iter().cloned().collect();
        let mut events = Vec::new();
        for variant in timed {
            if !self.conversation.is_sampled(&variant) {
                events.extend(self.variant_done(variant, StopReason::TimeLimit, 0).await);
            }
        }
        events.extend(self.verdict().await);
        events
    }

    /// Puts the job back into the queue, or ends it if its code has stopped the server too often.
    pub(super) async fn requeue(&mut self, reason: String, shutdown: &mut Shutdown) {
        let lease = self.lease.clone();
        persist(self.store, shutdown, &self.lease.job, move |store| {
            store.requeue(&lease, &reason)
        })
        .await;
    }
}

/// Runs what takes long where it holds up nothing else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(stopped) => match stopped.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => pending().await,
        },
    }
}
