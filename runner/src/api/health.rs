//! Health checks and metrics for monitoring.

use super::{
    App,
    jobs::check_runner,
    problem::{ApiError, ApiResult},
};
use crate::jobs::Store;
use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use hipward_protocol::JobState;

/// Whether the server answers.
#[utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, description = "It does.", content_type = "text/plain", body = String))
)]
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether the server can run benchmarks and store their results.
#[utoipa::path(
    get,
    path = "/readyz",
    responses(ApiError, (status = 200, description = "It can.", content_type = "text/plain", body = String))
)]
pub(crate) async fn ready(State(app): State<App>) -> ApiResult<&'static str> {
    let runner = app.runner.settled().await;
    check_runner(runner.refusal())?;
    if let lost @ 1.. = runner.activity.lost_devices() {
        return Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "device-lost",
            "A device is lost",
            format!("The scheduler of {lost} of the devices has failed; jobs for them wait."),
            "Restart the server, and report the error in its log.",
        ));
    }
    app.store.with(Store::check).await.map_err(|error| {
        ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store-unavailable",
            "The job store cannot be written",
            error.to_string(),
            "Check the free space of the data folder's disk, and the server's log.",
        )
    })?;
    Ok("ready\n")
}

/// Metrics in the Prometheus text format.
#[utoipa::path(
    get,
    path = "/metrics",
    responses(ApiError, (status = 200, description = "The metrics.", content_type = "text/plain", body = String))
)]
pub(crate) async fn metrics(State(app): State<App>) -> ApiResult<Response> {
    let counts = app.store.with(|store| store.counts()).await?;
    let mut text = String::from(
        "# HELP hipward_jobs Jobs in the data folder, by state.\n# TYPE hipward_jobs gauge\n",
    );
    let states = [
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
        text.push_str(&format!("hipward_jobs{{state=\"{name}\"}} {count}\n"));
    }
    let devices = app.runner.settled().await.devices();
    text.push_str("# HELP hipward_device_busy Whether a job holds the device.\n# TYPE hipward_device_busy gauge\n");
    for device in devices {
        let busy = u8::from(device.current_job.is_some());
        text.push_str(&format!(
            "hipward_device_busy{{device=\"{}\"}} {busy}\n",
            device.id
        ));
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
