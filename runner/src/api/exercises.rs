//! `POST /api/v1/exercises/{part}/{lesson}/{exercise}`: judges an answer to an exercise by running it.

use super::{
    App,
    jobs::ready_runner,
    problem::{ApiError, ApiResult},
    request_body::{check_code, read_json},
};
use crate::{
    exercise::Judged,
    jobs::{RequestError, Role, Settings},
};
use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use hipward_protocol::Problem;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use utoipa::ToSchema;

/// `Retry-After` while all places are taken.
const QUEUE_MOVES: Duration = Duration::from_secs(10);

/// An answer to an exercise.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExerciseAnswer {
    /// The learner's file; at most 256 KiB.
    #[schema(min_length = 1)]
    code: String,
}

/// A line of the worker.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WorkerAnswer {
    Judged(Judged),
    Error { message: String },
}

/// Judge an answer to an exercise.
///
/// Runs the file and the exercise's judge with the isolation of a job. The values of the cases are new in each run.
#[utoipa::path(
    post,
    path = "/api/v1/exercises/{part}/{lesson}/{exercise}",
    params(
        ("part" = String, Path, description = "The lesson's part, as in its address."),
        ("lesson" = String, Path, description = "The lesson, as in its address."),
        ("exercise" = String, Path, description = "The exercise's id.")
    ),
    request_body = ExerciseAnswer,
    responses(
        ApiError,
        (status = 200, description = "The verdict, also for an answer that does not load or does not end.", body = Judged),
        (status = 429, description = "Too many answers are waiting.", content_type = "application/problem+json",
            body = Problem, headers(("Retry-After" = u64, description = "Seconds."))),
        (status = 503, description = "A job is timed on the processor, or the server cannot run code.",
            content_type = "application/problem+json", body = Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn judge(
    State(app): State<App>,
    Path((part, lesson, exercise)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Judged>> {
    let identity = app.access.authorize(&headers, Role::Submit).await?;
    app.access.check_runs_unapproved(&identity)?;
    let example = r#"Send an object such as {"code": "…"}."#;
    let answer: ExerciseAnswer = read_json(&app, &headers, body, "an answer", example).await?;
    check_code(&answer.code)?;
    if answer.code.is_empty() {
        return Err(ApiError::bad_request(
            "code-empty",
            "There is no code",
            "The code is empty.",
            "Send the exercise's file with its holes filled.",
        ));
    }
    let request = {
        let pages = app.pages.current();
        let found = pages
            .exercises()
            .get(&format!("{part}/{lesson}"), &exercise);
        let found = found.ok_or_else(|| not_found(&part, &lesson, &exercise))?;
        json!({"files": found.files, "code": answer.code}).to_string()
    };
    let runner = ready_runner(&app, &identity).await?;
    let line = app.judges.answer(&runner, request).await.map_err(refused)?;
    match serde_json::from_str(&line) {
        Ok(WorkerAnswer::Judged(judged)) => Ok(Json(judged)),
        Ok(WorkerAnswer::Error { message }) => Err(failed(message)),
        Err(error) => Err(failed(format!(
            "The judge's answer cannot be read: {error}."
        ))),
    }
}

fn not_found(part: &str, lesson: &str, exercise: &str) -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "exercise-not-found",
        "No such exercise",
        format!("The lesson {part}/{lesson} has no exercise {exercise}."),
        "Reload the page: the lesson may have changed.",
    )
}

fn refused(error: RequestError) -> ApiError {
    match error {
        RequestError::Busy(waiting) => ApiError::too_many(
            "exercise-busy",
            "Too many answers are waiting",
            format!("{waiting} answers are waiting or running, which is the maximum."),
            QUEUE_MOVES,
        ),
        RequestError::Timing => ApiError::processor_in_use(),
        RequestError::TooLong(limit) => ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "exercise-timeout",
            "The answer took too long",
            format!("There was no result after {} seconds.", limit.as_secs()),
            "Look for a loop that does not end.",
        ),
        RequestError::Failed(error) => failed(format!("{error}.")),
    }
}

fn failed(detail: String) -> ApiError {
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "exercise-failed",
        "The answer was not judged",
        detail,
        format!(
            "Try again. The answer may use at most the memory of a job and {} processes.",
            Settings::MAX_PROCESSES
        ),
    )
}
