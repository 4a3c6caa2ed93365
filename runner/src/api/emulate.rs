//! `POST /api/v1/emulate`: executes a CUDA or HIP kernel as AMD machine code, and compares its results with a reference.

use super::{
    App,
    emulate_schema::{EmulateAnswer, EmulateRequest},
    jobs::ready_runner,
    problem::{ApiError, ApiResult},
    request_body::{check_code, read_json},
};
use crate::jobs::{RequestError, Role};
use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use hipward_protocol::Problem;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// `Retry-After` while all places are taken.
const QUEUE_MOVES: Duration = Duration::from_secs(15);

const EXAMPLE: &str = r#"Send an object such as {"language": "cuda", "source": "…", "arch": "gfx942", "launch": "grid = 1\nblock = 64\n…"}."#;

/// A line of the worker.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WorkerAnswer {
    Emulated { report: Box<EmulateAnswer> },
    Error { code: String, message: String },
}

/// Execute a kernel in the emulator.
///
/// Compiles the kernel for an AMD GPU, executes the machine code on the CPU, and compares the buffers with a reference. A
/// CUDA source becomes HIP with the fixes of the analyzer. A run ends after 2²⁴ instructions, or after 50 seconds. The
/// kernel and the reference run with the isolation of a job.
#[utoipa::path(
    post,
    path = "/api/v1/emulate",
    request_body = EmulateRequest,
    responses(
        ApiError,
        (status = 200, description = "The kernel was executed. `failed` is true if it did not end, or if there are findings or differences.",
            body = EmulateAnswer),
        (status = 429, description = "Too many kernels are waiting.", content_type = "application/problem+json",
            body = Problem, headers(("Retry-After" = u64, description = "Seconds."))),
        (status = 503, description = "A job is timed on the processor, or the server cannot run code.",
            content_type = "application/problem+json", body = Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn emulate(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<EmulateAnswer>> {
    let identity = app.access.authorize(&headers, Role::Submit).await?;
    app.access.check_runs_unapproved(&identity)?;
    let request: Value = read_json(&app, &headers, body, "a request", EXAMPLE).await?;
    let request = parse(&request)?;
    let runner = ready_runner(&app, &identity).await?;
    // Serialized again, because a worker reads one line.
    let line = serde_json::to_string(&request).map_err(|error| failed(format!("{error}.")))?;
    let answer = app.emulators.answer(&runner, line).await.map_err(refused)?;
    match serde_json::from_str(&answer) {
        Ok(WorkerAnswer::Emulated { report }) => Ok(Json(*report)),
        Ok(WorkerAnswer::Error { code, message }) if code == "timeout" => Err(too_long(message)),
        Ok(WorkerAnswer::Error { code, message }) if code == "failed" => Err(failed(message)),
        Ok(WorkerAnswer::Error { message, .. }) => Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "emulate-not-executed",
            "Nothing was executed",
            message,
            "Correct the kernel, its launch or the reference, and send them again.",
        )),
        Err(error) => Err(failed(format!("The answer cannot be read: {error}."))),
    }
}

fn parse(request: &Value) -> ApiResult<EmulateRequest> {
    let wrong = |problem: String| {
        ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "emulate-bad-request",
            "Invalid request",
            format!("The request is invalid: {problem}."),
            EXAMPLE,
        )
    };
    // serde would also accept a list of the fields' values.
    if !request.is_object() {
        return Err(wrong("it is not a JSON object".to_owned()));
    }
    let request = EmulateRequest::deserialize(request).map_err(|error| wrong(error.to_string()))?;
    for (name, text) in [("source", &request.source), ("launch", &request.launch)] {
        if text.trim().is_empty() {
            return Err(wrong(format!("`{name}` is empty")));
        }
        check_code(text)?;
    }
    check_code(request.reference.as_deref().unwrap_or_default())?;
    Ok(request)
}

fn refused(error: RequestError) -> ApiError {
    match error {
        RequestError::Busy(waiting) => ApiError::too_many(
            "emulate-busy",
            "Too many kernels are waiting",
            format!("{waiting} kernels are waiting or running, which is the maximum."),
            QUEUE_MOVES,
        ),
        RequestError::Timing => ApiError::processor_in_use(),
        RequestError::TooLong(limit) => too_long(format!(
            "There was no result after {} seconds.",
            limit.as_secs()
        )),
        RequestError::Failed(error) => failed(format!("{error}.")),
    }
}

fn too_long(detail: String) -> ApiError {
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "emulate-timeout",
        "The run took too long",
        detail,
        "Make the grid smaller, or look for a loop that does not end, in the reference too.",
    )
}

fn failed(detail: String) -> ApiError {
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "emulate-failed",
        "The kernel was not executed",
        detail,
        "Make the buffers smaller: a run may use at most the memory of a job.",
    )
}
