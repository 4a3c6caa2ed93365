//! `/api/v1/jobs/{id}`: shows, cancels and deletes a job.

use super::{
    App,
    identity::Identity,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use crate::jobs::{CancelOutcome, Refusal, RemoveOutcome, Role, Runner};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use hipward_protocol::{JobSummary, ListedJob};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// The state of a job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}",
    params(JobId),
    responses(ApiError, (status = 200, description = "The job.", body = ListedJob))
)]
pub(crate) async fn show(State(app): State<App>, JobId(id): JobId) -> ApiResult<Json<ListedJob>> {
    let listed = app.store.with(move |store| store.listed(&id)).await?;
    let job = listed.ok_or_else(ApiError::job_not_found)?;
    // The sender is for the list, which needs a token.
    Ok(Json(ListedJob { owner: None, ..job }))
}

/// Whether a job is also deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Removal {
    /// Also delete the job's code, events and result, with the addresses of its pages.
    #[serde(default)]
    permanently: bool,
}

/// Cancel a job, or delete it.
///
/// Cancelling has no effect on a job that has ended. A token with the role `submit` can cancel and delete only the jobs that were
/// submitted with it.
#[utoipa::path(
    delete,
    path = "/api/v1/jobs/{id}",
    params(JobId, Removal),
    responses(
        ApiError,
        (status = 200, description = "The job in its new state.", body = JobSummary),
        (status = 204, description = "The job is deleted.")
    ),
    security((), ("token" = []))
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    headers: HeaderMap,
    JobId(id): JobId,
    removal: Result<Query<Removal>, QueryRejection>,
) -> ApiResult<Response> {
    let identity = app.access.authorize(&headers, Role::Submit).await?;
    let Query(Removal { permanently }) = removal.map_err(|error| {
        ApiError::bad_request(
            "invalid-query",
            "The query is invalid",
            format!("{error}."),
            "Send permanently=true to delete the job, or nothing to cancel it.",
        )
    })?;
    let job = id.clone();
    let owner = app.store.with(move |store| store.owner(&job)).await?;
    let owner = owner.ok_or_else(ApiError::job_not_found)?;
    identity.check_owner(owner.as_deref())?;
    let job = id.clone();
    let was_active = if permanently {
        match app.store.with(move |store| store.remove(&job)).await? {
            RemoveOutcome::NotFound => return Err(ApiError::job_not_found()),
            RemoveOutcome::Removed { was_active } => was_active,
        }
    } else {
        match app.store.with(move |store| store.cancel(&job)).await? {
            CancelOutcome::NotFound => return Err(ApiError::job_not_found()),
            CancelOutcome::AlreadyEnded => false,
            CancelOutcome::Cancelled => true,
        }
    };
    if was_active {
        let runner = app.runner.settled().await;
        runner.activity.stop(&id);
    }
    if permanently {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(show(State(app), JobId(id)).await?.into_response())
}

/// The code of a job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/code",
    params(JobId),
    responses(ApiError, (status = 200, description = "Python source.", content_type = "text/x-python", body = String))
)]
pub(crate) async fn code(State(app): State<App>, JobId(id): JobId) -> ApiResult<Response> {
    let code = app.store.with(move |store| store.code(&id)).await?;
    let code = code.ok_or_else(ApiError::job_not_found)?;
    Ok((
        [(header::CONTENT_TYPE, "text/x-python; charset=utf-8")],
        code,
    )
        .into_response())
}

/// The runner, if it can run code of this sender.
pub(super) async fn ready_runner(app: &App, identity: &Identity) -> ApiResult<Arc<Runner>> {
    let runner = app.runner.settled().await;
    check_runner(refusal(&runner, identity).as_ref())?;
    Ok(runner)
}

/// Why the runner does not run code of this sender, if it does not.
pub(super) fn refusal(runner: &Runner, identity: &Identity) -> Option<Refusal> {
    match identity.name {
        Some(_) => runner.refusal_for_others(),
        None => runner.refusal().cloned(),
    }
}

/// Fails if the runner refuses to run code.
pub(super) fn check_runner(refusal: Option<&Refusal>) -> ApiResult<()> {
    refusal.map_or(Ok(()), |refusal| {
        Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            refusal.code,
            "Benchmarks cannot run here",
            refusal.missing.consequence.clone(),
            refusal.missing.fix.clone(),
        ))
    })
}
