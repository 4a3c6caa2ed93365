//! A job as a page shows it: the event log folded into one value. The server folds the stored
//! log, the browser folds the stream; both then render the same component.

use crate::{
    Comparison, Device, Environment, Event, EventBody, Failure, Hot, JobState, LogStream,
    Measurement, OutputError, Roofline, Stats, Step, Variant, VariantId, Verdict, label,
};
use serde::{Deserialize, Serialize};

/// Maximum size of the output in a view, bytes. The event log contains all of it.
const LOG_LIMIT: usize = 64 * 1024;

/// Everything a result page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobView {
    /// The state of the job.
    pub state: JobState,
    /// Sequence number of the last folded event; resume after it.
    pub last_seq: u64,
    /// The attempt that the other fields belong to.
    pub attempt: u32,
    /// Jobs ahead, while queued.
    pub position: usize,
    /// Why the job was queued again, or why no host can run it at present.
    #[serde(alias = "retried")]
    pub requeue_reason: Option<String>,
    /// The leased device.
    pub device: Option<Device>,
    /// When the job was leased, as [`Event::at`]. Its time limit, `environment.time_limit_s`, is counted from here.
    #[serde(default)]
    pub started_at: Option<String>,
    /// What a running job does at present. None before its first step and after its end.
    #[serde(default)]
    pub step: Option<CurrentStep>,
    /// The conditions.
    pub environment: Option<Environment>,
    /// The shortest possible time.
    #[serde(default)]
    pub roofline: Option<Roofline>,
    /// Limitations of the measurement that a reader must know.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The variants of the job with their labels, in ladder order. [`JobView::pending`] returns those to come.
    #[serde(default, alias = "announced")]
    pub all_variants: Vec<Variant>,
    /// The variants with results so far, in ladder order.
    pub variants: Vec<VariantView>,
    /// The output, with its stream.
    pub log: Vec<(LogStream, String)>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// The step that a job is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CurrentStep {
    /// The step.
    pub step: Step,
    /// The variant that it is about. None for a step of the whole job.
    pub variant: Option<VariantId>,
    /// When it started, as [`Event::at`].
    pub since: String,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantView {
    /// The variant.
    pub variant: VariantId,
    /// Its status.
    pub status: VariantStatus,
    /// The result of the precision gate.
    pub precision: Option<PrecisionView>,
    /// Seconds to compile and warm up.
    pub compile_seconds: Option<f64>,
    /// Lower variants that are part of it.
    #[serde(default)]
    pub based_on: Vec<VariantId>,
    /// A description of what each included step did.
    #[serde(default)]
    pub includes: Vec<String>,
    /// Raw samples so far, milliseconds.
    pub samples: Vec<f64>,
    /// Final statistics.
    pub stats: Option<Stats>,
    /// The time with warm caches.
    #[serde(default)]
    pub hot: Option<Hot>,
}

impl VariantView {
    fn new(variant: VariantId) -> Self {
        VariantView {
            variant,
            status: VariantStatus::Checked,
            precision: None,
            compile_seconds: None,
            based_on: Vec::new(),
            includes: Vec::new(),
            samples: Vec::new(),
            stats: None,
            hot: None,
        }
    }

    /// Excludes a variant. It has no results, not even those measured before.
    fn leave(&mut self, status: VariantStatus) {
        self.status = status;
        self.samples.clear();
        self.stats = None;
        self.hot = None;
    }
}

/// Status of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "is", content = "reason", rename_all = "kebab-case")]
pub enum VariantStatus {
    /// It cannot run here.
    Unavailable(String),
    /// It did not pass the precision gate, or failed while it was timed. It has no results.
    Rejected(String),
    /// It passed the precision gate.
    Checked,
    /// It is being timed.
    Sampling,
    /// Its statistics are complete.
    Measured,
}

/// The result of the precision gate for one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PrecisionView {
    /// Whether it passed.
    pub passed: bool,
    /// Errors per output.
    pub outputs: Vec<OutputError>,
    /// Seeds compared.
    pub seeds: usize,
    /// Reference dtype.
    pub reference: String,
}

impl Default for JobView {
    fn default() -> Self {
        JobView {
            state: JobState::Queued,
            last_seq: 0,
            attempt: 0,
            position: 0,
            requeue_reason: None,
            device: None,
            started_at: None,
            step: None,
            environment: None,
            roofline: None,
            warnings: Vec::new(),
            all_variants: Vec::new(),
            variants: Vec::new(),
            log: Vec::new(),
            verdict: None,
            failure: None,
        }
    }
}

impl JobView {
    /// Folds a whole log.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut view = JobView::default();
        for event in events {
            view.apply(event);
        }
        view
    }

    /// Applies one event. An event that was applied before is ignored, so that a client may
    /// resume too early.
    pub fn apply(&mut self, event: &Event) {
        if event.seq == self.last_seq
            && self.state == JobState::Queued
            && let EventBody::Queued { position, reason } = &event.body
        {
            // The stream repeats the event with the current position, and with the reason why no host can run the job. The
            // page of a job has the reason from the server; its module, which is as large as its budget, does not update it.
            self.position = *position;
            if cfg!(not(target_arch = "wasm32")) {
                self.requeue_reason.clone_from(reason);
            }
        }
        if event.seq <= self.last_seq {
            return;
        }
        self.last_seq = event.seq;
        self.attempt = event.attempt;
        match &event.body {
            EventBody::AwaitingApproval => self.state = JobState::AwaitingApproval,
            // A `queued` event follows.
            EventBody::Approved => {}
            EventBody::Queued { position, reason } => {
                *self = JobView {
                    requeue_reason: reason.clone().or_else(|| self.requeue_reason.clone()),
                    ..self.restarted()
                };
                self.position = *position;
            }
            EventBody::Leased { device } => {
                *self = self.restarted();
                self.state = JobState::Running;
                self.device = Some(device.clone());
                self.started_at = Some(event.at.clone());
            }
            EventBody::Measured(Measurement::Step { step, variant }) => {
                self.step = Some(CurrentStep {
                    step: *step,
                    variant: variant.clone(),
                    since: event.at.clone(),
                });
            }
            EventBody::Measured(measurement) => self.measured(measurement),
            EventBody::VariantDone { variant, stats } => {
                let row = self.row(variant);
                row.status = VariantStatus::Measured;
                row.stats = Some(stats.clone());
            }
            EventBody::Log { stream, text } => self.append_log(*stream, text),
            EventBody::Verdict(verdict) => self.verdict = Some(verdict.clone()),
            EventBody::Done => self.state = JobState::Done,
            EventBody::Failed(failure) => {
                self.state = JobState::Failed;
                self.failure = Some(failure.clone());
            }
            EventBody::Cancelled => self.state = JobState::Cancelled,
        }
        if event.body.is_final() {
            self.step = None;
        }
    }

    fn measured(&mut self, measurement: &Measurement) {
        match measurement {
            // Needs the time of its event; see `apply`.
            Measurement::Step { .. } => {}
            Measurement::Variants { variants } => self.all_variants.clone_from(variants),
            Measurement::Environment(environment) => self.environment = Some(environment.clone()),
            Measurement::Unavailable { variant, reason } => {
                let status = VariantStatus::Unavailable(reason.clone());
                self.row(variant).leave(status);
            }
            Measurement::Precision {
                variant,
                passed,
                outputs,
                seeds,
                reference,
                reason,
            } => {
                let row = self.row(variant);
                row.precision = Some(PrecisionView {
                    passed: *passed,
                    outputs: outputs.clone(),
                    seeds: *seeds,
                    reference: reference.clone(),
                });
                if !passed {
                    row.leave(VariantStatus::Rejected(reason.clone().unwrap_or_default()));
                }
            }
            Measurement::Roofline(roofline) => self.roofline = Some(roofline.clone()),
            Measurement::Warning { text } => self.warnings.push(text.clone()),
            Measurement::Compile {
                variant,
                seconds,
                based_on,
                includes,
            } => {
                let row = self.row(variant);
                row.compile_seconds = Some(*seconds);
                row.based_on.clone_from(based_on);
                row.includes.clone_from(includes);
            }
            Measurement::Hot { variant, hot } => self.row(variant).hot = Some(hot.clone()),
            Measurement::Samples { variant, ms, .. } => {
                let row = self.row(variant);
                row.status = VariantStatus::Sampling;
                row.samples.extend_from_slice(ms);
            }
        }
    }

    /// The label of a variant.
    pub fn label<'a>(&'a self, variant: &'a VariantId) -> &'a str {
        label(&self.all_variants, variant)
    }

    /// The variants without a final result so far, in ladder order: those that are neither measured, rejected nor
    /// unavailable.
    pub fn pending(&self) -> impl Iterator<Item = &Variant> {
        let is_final = |variant: &Variant| {
            let row = self.variants.iter().find(|row| row.variant == variant.id);
            row.is_some_and(|row| {
                !matches!(row.status, VariantStatus::Checked | VariantStatus::Sampling)
            })
        };
        self.all_variants
            .iter()
            .filter(move |variant| !is_final(variant))
    }

    /// The comparison of one variant with eager, once there is a verdict.
    pub fn comparison(&self, variant: &VariantId) -> Option<&Comparison> {
        let verdict = self.verdict.as_ref()?;
        verdict
            .comparisons
            .iter()
            .chain(&verdict.control)
            .find(|c| c.variant == *variant)
    }

    /// The view at the start of a new attempt.
    fn restarted(&self) -> JobView {
        JobView {
            last_seq: self.last_seq,
            attempt: self.attempt,
            requeue_reason: self.requeue_reason.clone(),
            ..JobView::default()
        }
    }

    /// The row of a variant. Rows are in announced order; variants that were not announced
    /// come last.
    fn row(&mut self, variant: &VariantId) -> &mut VariantView {
        let at = match self.variants.iter().position(|row| row.variant == *variant) {
            Some(at) => at,
            None => {
                let place = |variant: &VariantId| {
                    let at = self
                        .all_variants
                        .iter()
                        .position(|known| known.id == *variant);
                    at.unwrap_or(usize::MAX)
                };
                let at = self
                    .variants
                    .partition_point(|row| place(&row.variant) <= place(variant));
                self.variants.insert(at, VariantView::new(variant.clone()));
                at
            }
        };
        &mut self.variants[at]
    }

    fn append_log(&mut self, stream: LogStream, text: &str) {
        let held: usize = self.log.iter().map(|(_, text)| text.len()).sum();
        if held + text.len() > LOG_LIMIT {
            return;
        }
        match self.log.last_mut() {
            Some((last, held)) if *last == stream => held.push_str(text),
            _ => self.log.push((stream, text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(lines: &[&str]) -> JobView {
        let read = |line: &&str| serde_json::from_str(line).expect("an event");
        let events: Vec<Event> = lines.iter().map(read).collect();
        JobView::from_events(&events)
    }

    const AGAIN: &str = r#"{"seq":1,"attempt":1,"at":"","type":"queued","position":4,"reason":"the runner was stopped"}"#;

    #[test]
    fn second_queued_event_keeps_the_reason() {
        let view = fold(&[
            AGAIN,
            r#"{"seq":2,"attempt":1,"at":"","type":"queued","position":0}"#,
        ]);
        assert_eq!(
            view.requeue_reason.as_deref(),
            Some("the runner was stopped")
        );
    }

    #[test]
    fn repeated_queued_event_updates_the_position_and_the_reason() {
        let now = r#"{"seq":1,"attempt":1,"at":"","type":"queued","position":2}"#;
        let view = fold(&[AGAIN, now]);
        assert_eq!((view.position, view.last_seq), (2, 1));
        assert_eq!(view.requeue_reason, None);
        let no_host = r#"{"seq":1,"attempt":1,"at":"","type":"queued","position":2,"reason":"no host has it"}"#;
        let view = fold(&[AGAIN, now, no_host]);
        assert_eq!(view.requeue_reason.as_deref(), Some("no host has it"));
        // Ignored once the job runs.
        let leased = r#"{"seq":2,"attempt":2,"at":"","type":"leased","device":
            {"id":"cpu","name":"A processor","vendor":"cpu","arch":"x86_64","memory_bytes":1}}"#;
        let view = fold(&[AGAIN, leased, now]);
        assert_eq!((view.state, view.position), (JobState::Running, 0));
    }

    #[test]
    fn running_job_has_its_step_and_the_variants_to_come() {
        let log = [
            r#"{"seq":1,"attempt":1,"at":"10:00","type":"leased","device":
                {"id":"cpu","name":"A processor","vendor":"cpu","arch":"x86_64","memory_bytes":1}}"#,
            r#"{"seq":2,"attempt":1,"at":"10:01","type":"variants","variants":[
                {"id":"eager","label":"Eager","about":"a"},{"id":"compile","label":"torch.compile","about":"b"}]}"#,
            r#"{"seq":3,"attempt":1,"at":"10:02","type":"unavailable","variant":"eager","reason":"no"}"#,
            r#"{"seq":4,"attempt":1,"at":"10:03","type":"step","step":"warm-up","variant":"compile"}"#,
        ];
        let view = fold(&log);
        assert_eq!(view.started_at.as_deref(), Some("10:00"));
        let step = view.step.as_ref().expect("there is one");
        assert_eq!(
            (
                step.step,
                step.variant.as_ref().map(VariantId::name),
                step.since.as_str()
            ),
            (Step::WarmUp, Some("compile"), "10:03")
        );
        let pending: Vec<_> = view
            .pending()
            .map(|variant| variant.label.as_str())
            .collect();
        assert_eq!(pending, ["torch.compile"]);
        let done = r#"{"seq":5,"attempt":1,"at":"10:04","type":"done"}"#;
        assert_eq!(fold(&[&log[..], &[done]].concat()).step, None);
    }

    #[test]
    fn log_of_an_older_runner_is_read() {
        let view = fold(&[
            r#"{"seq":1,"attempt":1,"at":"","type":"environment","device_name":"a","arch":"b","torch":"2","python":"3",
                "threads":1,"clock":"c","clock_overhead_ms":0.1,"cache":"warm","stop_rule":"d"}"#,
            r#"{"seq":2,"attempt":1,"at":"","type":"verdict","comparisons":[{"variant":"compile","speedup":2.0,
                "ci_low":1.9,"ci_high":2.1,"outcome":"FASTER"}],"best":"compile","summary":"Twice as fast."}"#,
        ]);
        let verdict = view.verdict.expect("there is one");
        assert_eq!(
            (verdict.load, verdict.comparisons[0].reason.as_ref()),
            (None, None)
        );
        assert_eq!(view.environment.expect("there is one").load, None);
    }
}
