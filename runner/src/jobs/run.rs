//! One running job: turns the messages of its worker into events, and the end of the worker into the end of the job.

use super::{
    data_sheet, failure_messages,
    load::Snapshot,
    native_code,
    output::{self, Output},
    persist::persist,
    protocol_state::ProtocolState,
    runner::Settings,
    store::{Lease, StoreError},
    work_source::WorkSource,
    worker_output::WorkerMessage,
};
use crate::{
    isolation::{ExitReason, Limit},
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

/// Time for a worker to exit after its last line, before it is killed.
const EXIT_GRACE: Duration = Duration::from_millis(300);
/// Delay before events are sent again to a source that could not be reached.
const SEND_RETRY: Duration = Duration::from_secs(1);

pub(super) struct Run<'a> {
    source: &'a dyn WorkSource,
    settings: &'a Settings,
    lease: &'a Lease,
    device: &'a Device,
    isolation: Isolation,
    /// The process id of the supervisor, whose descendants are the job's processes.
    supervisor: Option<u32>,
    protocol: ProtocolState,
    samples: Arc<Samples>,
    output: Output,
    /// The secret that the harness received. A line without it is from the snippet.
    nonce: String,
    sent_at: Instant,
    begun: bool,
    /// Whether the source does not know yet that the code has started.
    begin_unsent: bool,
    /// The number of events that the source has.
    sent: usize,
    /// Events that the source could not be reached for.
    unsent: Vec<EventBody>,
    /// When to try again to send them.
    retry_at: Option<Instant>,
    /// The host's load before the job.
    before: Option<Arc<Snapshot>>,
    /// The host's load when the timing began.
    timing: Option<Arc<Snapshot>>,
    /// Events that precede the final event in the same transaction.
    closing: Vec<EventBody>,
    /// The final event, once it is known.
    pub(super) conclusion: Option<EventBody>,
    pub(super) exit_reason: Option<ExitReason>,
    /// The lease has ended, because of a cancellation or another attempt: nothing more may be written.
    pub(super) fenced: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        source: &'a dyn WorkSource,
        settings: &'a Settings,
        lease: &'a Lease,
        device: &'a Device,
        isolation: Isolation,
        supervisor: Option<u32>,
        warning: Option<EventBody>,
    ) -> Self {
        Run {
            source,
            settings,
            lease,
            device,
            isolation,
            supervisor,
            protocol: ProtocolState::new(&lease.variants),
            samples: Arc::default(),
            output: Output::default(),
            nonce: String::new(),
            sent_at: Instant::now(),
            begun: false,
            begin_unsent: false,
            sent: 0,
            unsent: native_code::warning(&lease.code)
                .into_iter()
                .chain(warning)
                .collect(),
            retry_at: None,
            before: None,
            timing: None,
            closing: Vec::new(),
            conclusion: None,
            exit_reason: None,
            fenced: false,
        }
    }

    /// Records how busy the host is before the job.
    pub(super) async fn record_host_load(&mut self) {
        self.before = Some(self.snapshot().await);
    }

    /// Records that the job is sent, with the secret for its lines.
    pub(super) fn begin(&mut self, nonce: String) {
        self.nonce = nonce;
        self.sent_at = Instant::now();
    }

    /// Whether the worker has sent a line about this job. Before its first line it runs no code of the job.
    pub(super) fn has_started(&self) -> bool {
        self.begun
    }

    pub(super) fn is_over(&self) -> bool {
        self.fenced || self.conclusion.is_some() || self.exit_reason.is_some()
    }

    /// Time for the worker to exit before it is killed.
    pub(super) fn grace(&self) -> Duration {
        match self.conclusion {
            Some(EventBody::Done) if !self.fenced => EXIT_GRACE,
            _ => Duration::ZERO,
        }
    }

    fn conclude(&mut self, conclusion: EventBody) {
        self.conclusion.get_or_insert(conclusion);
    }

    pub(super) async fn handle_message(&mut self, worker_message: WorkerMessage) {
        match worker_message {
            WorkerMessage::Output(stream, bytes) => {
                if !self.output.push(stream, &bytes) {
                    self.conclude(failure_messages::too_much_output(output::MOST));
                }
            }
            WorkerMessage::Line(message) if self.conclusion.is_none() => {
                if message.nonce.as_deref() == Some(self.nonce.as_str()) {
                    self.mark_started().await;
                    self.handle_line(message.line).await;
                } else {
                    self.conclude(failure_messages::not_a_line(
                        "a line without the job's secret",
                    ));
                }
            }
            WorkerMessage::Invalid(problem) if self.exit_reason.is_none() => {
                self.conclude(failure_messages::not_a_line(&problem));
            }
            WorkerMessage::Line(_) | WorkerMessage::Invalid(_) => {}
            // Keeps the reason for which the server has killed it.
            WorkerMessage::Exited(exit_reason) => {
                self.exit_reason.get_or_insert(exit_reason);
            }
            WorkerMessage::SupervisorLost(how) => self.conclude(failure_messages::lost(&how)),
        }
    }

    /// From here on, a crash of the server counts against the job.
    async fn mark_started(&mut self) {
        if mem::replace(&mut self.begun, true) {
            return;
        }
        self.begin_unsent = true;
        self.send().await;
    }

    async fn handle_line(&mut self, line: HarnessLine) {
        self.flush_output(false).await;
        let passed = self.sent_at.elapsed();
        if let Err(violation) = self.protocol.take(&line, passed) {
            self.conclude(failure_messages::impossible_line(&violation));
            return;
        }
        match line {
            HarnessLine::Ready | HarnessLine::Accepted => {}
            HarnessLine::Measured(mut measurement) => {
                self.record(&mut measurement).await;
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

    /// Records what the statistics need, and adds to the environment what only the runner knows.
    async fn record(&mut self, measurement: &mut Measurement) {
        match measurement {
            Measurement::Environment(environment) => {
                // The device is that of the lease, because the worker is not trusted.
                environment.device_name.clone_from(&self.device.name);
                environment.arch.clone_from(&self.device.arch);
                environment.isolation = Some(self.isolation.clone());
                environment.code_sha256.clone_from(&self.lease.code_sha256);
                env!("CARGO_PKG_VERSION").clone_into(&mut environment.hipward);
                environment.time_limit_s = Some(self.settings.wall_limit.as_secs_f64());
                environment.load = match self.before.clone() {
                    Some(before) => Some(self.snapshot().await.before(&before)),
                    None => None,
                };
            }
            Measurement::Variants { variants } => self.samples().announce(variants),
            Measurement::Roofline(roofline) => {
                data_sheet::apply(roofline, self.device);
                self.samples().set_floor(roofline.floor_ms);
            }
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
            // The other measurements are stored unchanged.
            _ => {}
        }
    }

    /// The samples, for adding more. Computations that share them have ended, because their results are awaited.
    fn samples(&mut self) -> &mut Samples {
        Arc::make_mut(&mut self.samples)
    }

    async fn snapshot(&self) -> Arc<Snapshot> {
        let supervisor = self.supervisor;
        blocking(move || Arc::new(Snapshot::take(supervisor))).await
    }

    pub(super) async fn flush_output(&mut self, last: bool) {
        let events = self.output.take(last);
        self.append(events).await;
    }

    async fn append(&mut self, events: Vec<EventBody>) {
        self.unsent.extend(events);
        self.send().await;
    }

    /// Sends what the source does not have yet. If the source cannot be reached, the job goes on, and this is tried again later.
    async fn send(&mut self) {
        let waits = self.retry_at.is_some_and(|at| Instant::now() < at);
        if self.fenced || waits {
            return;
        }
        if self.begin_unsent {
            let begun = self.source.mark_begun(self.lease).await;
            self.begin_unsent = !self.check(begun);
        }
        if !self.begin_unsent && !self.unsent.is_empty() {
            let events = self.unsent.clone();
            let appended = self.source.append(self.lease, self.sent, events).await;
            if self.check(appended) {
                self.sent += self.unsent.len();
                self.unsent.clear();
            }
        }
    }

    /// Handles the result of a request to the source. Returns false if the request must be repeated.
    fn check(&mut self, stored: Result<(), StoreError>) -> bool {
        self.retry_at = None;
        match stored {
            Ok(()) => {}
            Err(StoreError::Fenced) => self.fenced = true,
            Err(error) if error.is_temporary() => {
                tracing::warn!("job {}: {error}", self.lease.job);
                self.retry_at = Some(Instant::now() + SEND_RETRY);
                return false;
            }
            Err(error) => {
                tracing::error!("job {}: {error}", self.lease.job);
                self.conclude(failure_messages::not_stored(&error.to_string()));
            }
        }
        true
    }

    /// Writes the final event.
    pub(super) async fn end(&mut self, shutdown: &mut Shutdown) {
        let over_limit = match self.exit_reason {
            Some(exit_reason @ ExitReason::OverLimit(_)) => Some(exit_reason),
            _ => None,
        };
        let conclusion = match (over_limit, self.conclusion.take(), self.exit_reason) {
            // An error that the snippet reports while it is stopped for a limit is not the reason.
            (Some(exit_reason), Some(EventBody::Failed(_)) | None, _) => {
                if exit_reason == ExitReason::OverLimit(Limit::WallClock) {
                    self.closing = self.partial_results().await;
                }
                match self.closing.is_empty() {
                    true => failure_messages::ended_early(exit_reason, self.settings),
                    false => failure_messages::time_limit_while_timed(self.settings),
                }
            }
            (_, Some(conclusion), _) => conclusion,
            (None, None, Some(exit_reason)) => {
                failure_messages::ended_early(exit_reason, self.settings)
            }
            (None, None, None) => failure_messages::lost("its supervisor ended unexpectedly"),
        };
        if self.fenced {
            return;
        }
        let mut last = mem::take(&mut self.unsent);
        last.append(&mut self.closing);
        last.push(conclusion);
        let (source, lease, sent) = (self.source, self.lease, self.sent);
        persist(shutdown, &lease.job, || {
            source.append(lease, sent, last.clone())
        })
        .await;
    }

    /// Statistics and a verdict from the samples taken before the job was stopped.
    async fn partial_results(&self) -> Vec<EventBody> {
        let timed: Vec<VariantId> = self.samples.timed().into_iter().cloned().collect();
        let mut events = Vec::new();
        for variant in timed {
            if !self.protocol.is_sampled(&variant) {
                events.extend(self.variant_done(variant, StopReason::TimeLimit, 0).await);
            }
        }
        events.extend(self.verdict().await);
        events
    }

    /// Queues the job again.
    pub(super) async fn requeue(&mut self, reason: String, shutdown: &mut Shutdown) {
        let (source, lease) = (self.source, self.lease);
        persist(shutdown, &lease.job, || {
            source.requeue(lease, reason.clone())
        })
        .await;
    }
}

/// Runs a long computation on a thread where blocking is allowed.
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
