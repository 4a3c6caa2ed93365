//! Health checks for monitoring.

use super::{
    App,
    hosts::Fleet,
    jobs::check_runner,
    problem::{ApiError, ApiResult},
};
use crate::jobs::Store;
use axum::{extract::State, http::StatusCode};

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
    if !Fleet::now(&app, &runner).await?.has_others() {
        check_runner(runner.refusal())?;
    }
    check_devices(runner.activity.lost_devices())?;
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

/// Fails if the schedulers of devices have failed.
fn check_devices(lost: usize) -> ApiResult<()> {
    if lost == 0 {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "device-lost",
        "A device is lost",
        format!("The scheduler of {lost} of the devices has failed; jobs for them wait."),
        "Restart the server, and report the error in its log.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_with_a_lost_device_is_not_ready() {
        assert!(check_devices(0).is_ok());
        let error = check_devices(1).expect_err("is not ready");
        assert_eq!(
            (error.status(), error.code()),
            (StatusCode::SERVICE_UNAVAILABLE, "device-lost")
        );
    }
}
