//! A job's result as a file: JSON for programs, Markdown for pull requests.

use super::{
    App,
    hosts::no_host_reason,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use crate::{jobs::StoreError, web::pages::Job};
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use hipward_protocol::{JobState, JobSummary, JobView};
use serde::Serialize;
use utoipa::ToSchema;

/// A job with its result.
#[derive(Serialize, ToSchema)]
struct Report<'a> {
    /// The job.
    job: &'a JobSummary,
    /// Its event log, folded into one value: conditions, samples, statistics and verdict.
    result: &'a JobView,
    /// The submitted Python source.
    code: &'a str,
}

/// The result of a job as JSON.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/report.json",
    params(JobId),
    responses(ApiError, (status = 200, description = "The result.", content_type = "application/json", body = Report))
)]
pub(crate) async fn json(State(app): State<App>, JobId(id): JobId) -> ApiResult<Response> {
    let job = find(&app, id).await?.ok_or_else(ApiError::job_not_found)?;
    let report = Report {
        job: &job.summary,
        result: &job.view,
        code: &job.code,
    };
    let text = serde_json::to_string_pretty(&report).map_err(StoreError::from)?;
    Ok(attachment("application/json", "benchmark.json", text))
}

/// The result of a job as Markdown.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/report.md",
    params(JobId),
    responses(ApiError, (status = 200, description = "The result.", content_type = "text/markdown", body = String))
)]
pub(crate) async fn markdown(State(app): State<App>, JobId(id): JobId) -> ApiResult<Response> {
    let job = find(&app, id).await?.ok_or_else(ApiError::job_not_found)?;
    Ok(attachment(
        "text/markdown; charset=utf-8",
        "benchmark.md",
        job.markdown(),
    ))
}

/// Loads a job with everything its page shows.
pub(super) async fn find(app: &App, id: String) -> Result<Option<Job>, StoreError> {
    let job = id.clone();
    let found = app
        .store
        .with(move |store| {
            let (Some(summary), Some(code)) = (store.summary(&id)?, store.code(&id)?) else {
                return Ok(None);
            };
            let events = store.events_after(&id, 0, usize::MAX >> 1)?;
            let mut view = JobView::from_events(&events);
            if let Some(position) = summary.position {
                view.position = position;
            }
            Ok::<_, StoreError>(Some(Job {
                summary,
                view,
                code,
            }))
        })
        .await?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    if found.summary.state == JobState::Queued
        && let Some(reason) = no_host_reason(app, &job).await
    {
        found.view.requeue_reason = Some(reason);
    }
    Ok(Some(found))
}

fn attachment(media_type: &'static str, name: &str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    (headers, text).into_response()
}
