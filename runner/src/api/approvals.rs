//! Approval of code by an operator, on servers that were started with `--approve`.

use super::{
    App,
    identity::Identity,
    job_id::JobId,
    problem::{ApiError, ApiResult},
    request_body::{check_json, read},
};
use crate::jobs::{ApprovalOutcome, Pending, Role, StoreError};
use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use hipward_protocol::{JobSummary, PendingJob, Rejection};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum number of jobs in the list.
const MAX_LISTED: usize = 50;
/// Maximum length of a reason, characters.
const REASON_CHARACTERS: usize = 500;

/// The jobs whose code waits for approval.
///
/// The oldest first, at most 50. Requires a token with the role `operate`. The code of each is at `/api/v1/jobs/{id}/code`.
#[utoipa::path(
    get,
    path = "/api/v1/approvals",
    responses(ApiError, (status = 200, description = "The oldest first.", body = Vec<PendingJob>)),
    security((), ("token" = []))
)]
pub(crate) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<PendingJob>>> {
    app.access.authorize_reader(&headers, Role::Operate).await?;
    let pending = pending(&app).await?;
    Ok(Json(
        pending.into_iter().map(|pending| pending.job).collect(),
    ))
}

/// The oldest jobs that wait for approval.
pub(super) async fn pending(app: &App) -> Result<Vec<Pending>, StoreError> {
    app.store
        .with(|store| store.awaiting_approval(MAX_LISTED))
        .await
}

/// Approve the code of a job.
///
/// The job is queued, and so are all others that wait with the same code. Later jobs with this code do not wait for approval.
/// Requires a token with the role `operate`.
#[utoipa::path(
    post,
    path = "/api/v1/jobs/{id}/approve",
    params(JobId),
    responses(ApiError, (status = 200, description = "The job in its new state.", body = JobSummary)),
    security((), ("token" = []))
)]
pub(crate) async fn approve(
    State(app): State<App>,
    headers: HeaderMap,
    JobId(id): JobId,
) -> ApiResult<Json<JobSummary>> {
    let Identity { name, .. } = app.access.authorize(&headers, Role::Operate).await?;
    let job = id.clone();
    let outcome = app
        .store
        .with(move |store| store.approve(&job, name.as_deref()))
        .await?;
    check(outcome)?;
    summary(&app, id).await
}

/// Reject the code of a job.
///
/// The job fails with the reason. Requires a token with the role `operate`.
#[utoipa::path(
    post,
    path = "/api/v1/jobs/{id}/reject",
    params(JobId),
    request_body = Rejection,
    responses(ApiError, (status = 200, description = "The job in its new state.", body = JobSummary)),
    security((), ("token" = []))
)]
pub(crate) async fn reject(
    State(app): State<App>,
    headers: HeaderMap,
    JobId(id): JobId,
    body: Body,
) -> ApiResult<Json<JobSummary>> {
    let Identity { name, .. } = app.access.authorize(&headers, Role::Operate).await?;
    check_json(&headers)?;
    let reason = reason(&read(&app, body).await?)?;
    let job = id.clone();
    let outcome = app
        .store
        .with(move |store| store.reject(&job, name.as_deref(), &reason))
        .await?;
    check(outcome)?;
    summary(&app, id).await
}

/// Parses the body of a rejection.
fn reason(body: &[u8]) -> ApiResult<String> {
    let invalid = |detail: String| {
        ApiError::bad_request(
            "invalid-reason",
            "The reason is invalid",
            detail,
            r#"Send an object such as {"reason": "It reads files outside of its folder."}, with 1 to 500 characters."#,
        )
    };
    // serde alone would also accept a list of the fields' values.
    let rejection = serde_json::from_slice::<Map<String, Value>>(body)
        .and_then(|fields| Rejection::deserialize(Value::Object(fields)))
        .map_err(|error| invalid(format!("{error}.")))?;
    let reason = rejection.reason.trim();
    match reason.chars().count() {
        0 => Err(invalid("The reason is empty.".to_owned())),
        1..=REASON_CHARACTERS => Ok(reason.to_owned()),
        characters => Err(invalid(format!("The reason has {characters} characters."))),
    }
}

fn check(outcome: ApprovalOutcome) -> ApiResult<()> {
    match outcome {
        ApprovalOutcome::Decided => Ok(()),
        ApprovalOutcome::NotFound => Err(ApiError::job_not_found()),
        ApprovalOutcome::NotWaiting => Err(ApiError::new(
            StatusCode::CONFLICT,
            "not-awaiting-approval",
            "The job does not wait for approval",
            "The job was approved, rejected or withdrawn before.",
            "Look at the job's page for its state.",
        )),
    }
}

async fn summary(app: &App, id: String) -> ApiResult<Json<JobSummary>> {
    let summary = app.store.with(move |store| store.summary(&id)).await?;
    summary.map(Json).ok_or_else(ApiError::job_not_found)
}
