//! `GET /metrics`: the state of the server in the Prometheus text format.

use super::{
    App,
    hosts::Fleet,
    problem::{ApiError, ApiResult},
};
use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use hipward_protocol::JobState;
use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Upper bounds of the buckets of response times, seconds.
const RESPONSE_BOUNDS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0];

/// Counters of requests since the server started.
#[derive(Debug, Default)]
pub(crate) struct RequestMetrics {
    /// Responses by the first digit of their status.
    by_class: [AtomicU64; 6],
    /// Responses within each bound, and those above all bounds.
    buckets: [AtomicU64; RESPONSE_BOUNDS.len() + 1],
    /// Sum of the response times, microseconds.
    sum_us: AtomicU64,
}

impl RequestMetrics {
    fn add(&self, status: u16, elapsed: Duration) {
        let class = usize::from(status / 100).min(self.by_class.len() - 1);
        self.by_class[class].fetch_add(1, Ordering::Relaxed);
        let seconds = elapsed.as_secs_f64();
        let bucket = RESPONSE_BOUNDS.iter().position(|&bound| seconds <= bound);
        self.buckets[bucket.unwrap_or(RESPONSE_BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.sum_us.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, text: &mut Exposition) {
        text.family(
            "hipward_http_responses_total",
            "counter",
            "Responses, by class of their status.",
        );
        for (class, count) in self.by_class.iter().enumerate().skip(1) {
            let labels = format!("{{status=\"{class}xx\"}}");
            text.value(&labels, count.load(Ordering::Relaxed));
        }
        let help = "Time from a request's head to the response's head.";
        text.family("hipward_http_response_seconds", "histogram", help);
        let mut below = 0;
        for (nth, bucket) in self.buckets.iter().enumerate() {
            below += bucket.load(Ordering::Relaxed);
            let bound = RESPONSE_BOUNDS
                .get(nth)
                .map_or("+Inf".to_owned(), f64::to_string);
            text.value(&format!("_bucket{{le=\"{bound}\"}}"), below);
        }
        let sum = self.sum_us.load(Ordering::Relaxed) as f64 * 1e-6;
        text.value("_sum", sum);
        text.value("_count", below);
    }
}

/// Counts each response and its time.
pub(super) async fn count(
    State(metrics): State<Arc<RequestMetrics>>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let response = next.run(request).await;
    metrics.add(response.status().as_u16(), begin.elapsed());
    response
}

/// Text in the Prometheus format.
#[derive(Default)]
struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// Starts a metric.
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a value of the metric. `suffix` is the end of its name, and its labels.
    fn value(&mut self, suffix: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{}{suffix} {value}", self.family);
    }

    /// Adds a metric with one value.
    fn single(
        &mut self,
        name: &'static str,
        kind: &str,
        help: &str,
        value: impl std::fmt::Display,
    ) {
        self.family(name, kind, help);
        self.value("", value);
    }
}

/// Metrics in the Prometheus text format.
#[utoipa::path(
    get,
    path = "/metrics",
    responses(ApiError, (status = 200, description = "The metrics.", content_type = "text/plain", body = String))
)]
pub(crate) async fn metrics(State(app): State<App>) -> ApiResult<Response> {
    let (counts, queue, bytes, leased, webhooks) = app
        .store
        .with(|store| {
            Ok::<_, crate::jobs::StoreError>((
                store.counts()?,
                store.queue_metrics()?,
                store.live_bytes()?,
                store.leased_devices()?,
                store.open_deliveries()?,
            ))
        })
        .await?;
    let mut text = Exposition::default();
    text.family("hipward_build_info", "gauge", "The version of the server.");
    text.value(&format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1);
    text.family(
        "hipward_jobs",
        "gauge",
        "Jobs in the data folder, by state.",
    );
    let states = [
        (JobState::AwaitingApproval, "awaiting-approval"),
        (JobState::Queued, "queued"),
        (JobState::Running, "running"),
        (JobState::Done, "done"),
        (JobState::Failed, "failed"),
        (JobState::Cancelled, "cancelled"),
    ];
    for (state, name) in states {
        let count = counts
            .iter()
            .find(|(counted, _)| *counted == state)
            .map_or(0, |(_, n)| *n);
        text.value(&format!("{{state=\"{name}\"}}"), count);
    }
    let runner = app.runner.settled().await;
    text.single(
        "hipward_queue_limit",
        "gauge",
        "Jobs that may wait.",
        runner.settings.queue_limits.total,
    );
    let help = "Time for which the oldest queued job has waited since it was submitted.";
    text.single(
        "hipward_queue_oldest_seconds",
        "gauge",
        help,
        queue.oldest_seconds,
    );
    let help = "Times between the submission and the first start of jobs.";
    text.family("hipward_queue_wait_seconds", "summary", help);
    text.value("_sum", queue.waited_seconds);
    text.value("_count", queue.started);
    let help = "Jobs that failed since the server started, by the code of the failure.";
    text.family("hipward_job_failures_total", "counter", help);
    for (code, count) in &queue.failures {
        text.value(&format!("{{code=\"{code}\"}}"), count);
    }
    let help = "Size of the job database without free pages.";
    text.single("hipward_store_bytes", "gauge", help, bytes);
    text.family(
        "hipward_device_busy",
        "gauge",
        "Whether a job holds the device.",
    );
    let fleet = Fleet::now(&app, &runner).await?;
    for device in &fleet.devices {
        // Devices of other hosts report their job with a delay.
        let busy = u8::from(device.current_job.is_some() || leased.contains(&device.id));
        text.value(&format!("{{device=\"{}\"}}", device.id), busy);
    }
    let help = "Other hosts that have joined and reported within a minute.";
    text.single("hipward_hosts", "gauge", help, fleet.host_count());
    let help = "Webhook requests that the receiver has not confirmed yet.";
    text.single("hipward_webhooks_waiting", "gauge", help, webhooks);
    let help = "Devices whose scheduler has failed.";
    text.single(
        "hipward_devices_lost",
        "gauge",
        help,
        runner.activity.lost_devices(),
    );
    let used = app.streams.limit - app.streams.free.available_permits();
    text.single(
        "hipward_event_streams",
        "gauge",
        "Open event streams of jobs.",
        used,
    );
    let help = "Event streams that may be open.";
    text.single(
        "hipward_event_streams_limit",
        "gauge",
        help,
        app.streams.limit,
    );
    app.requests.write(&mut text);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text.text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let metrics = RequestMetrics::default();
        for (status, ms) in [(200, 0), (200, 30), (429, 30), (500, 100_000)] {
            metrics.add(status, Duration::from_millis(ms));
        }
        let mut text = Exposition::default();
        metrics.write(&mut text);
        for line in [
            "hipward_http_responses_total{status=\"2xx\"} 2",
            "hipward_http_responses_total{status=\"4xx\"} 1",
            "hipward_http_response_seconds_bucket{le=\"0.025\"} 1",
            "hipward_http_response_seconds_bucket{le=\"0.1\"} 3",
            "hipward_http_response_seconds_bucket{le=\"60\"} 3",
            "hipward_http_response_seconds_bucket{le=\"+Inf\"} 4",
            "hipward_http_response_seconds_sum 100.06",
            "hipward_http_response_seconds_count 4",
        ] {
            assert!(
                text.text.lines().any(|written| written == line),
                "{line}\n{}",
                text.text
            );
        }
    }
}
