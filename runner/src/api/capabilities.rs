//! `GET /api/v1/capabilities`

use super::{
    App, hosts,
    problem::{ApiError, ApiResult},
};
use axum::{Json, extract::State};
use hipward_protocol::{Capabilities, JobState};

/// What this server and the hosts that have joined it can run, and with which limits.
#[utoipa::path(
    get,
    path = "/api/v1/capabilities",
    responses(ApiError, (status = 200, description = "The capabilities.", body = Capabilities))
)]
pub(crate) async fn show(State(app): State<App>) -> ApiResult<Json<Capabilities>> {
    let counts = app.store.with(|store| store.counts()).await?;
    let queued = counts
        .into_iter()
        .find(|(state, _)| *state == JobState::Queued);
    Ok(Json(Capabilities {
        queue_length: Some(queued.map_or(0, |(_, count)| count)),
        ..hosts::capabilities(&app).await
    }))
}
