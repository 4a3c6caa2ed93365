//! `POST /api/v1/compile`: a Triton or HIP source to AMD machine code, with what it uses.

use super::{
    App,
    compile_schema::{CompileAnswer, CompileRequest},
    jobs::ready_runner,
    problem::{ApiError, ApiResult},
    request_body::{read_json, write_integers},
};
use crate::jobs::{RequestError, Role};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use hipward_protocol::Problem;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The parts of a worker's answer that the server uses.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Answer {
    Compiled,
    Error {
        code: String,
        message: String,
        help: String,
        #[serde(default)]
        line: Option<u64>,
    },
}

/// Maximum length of a source, characters.
const MAX_SOURCE: usize = 256 * 1024;
/// `Retry-After` of a full queue.
const QUEUE_MOVES: Duration = Duration::from_secs(15);

const EXAMPLE: &str =
    r#"Send an object such as {"language": "triton", "source": "…", "archs": ["gfx942"]}."#;

fn check_form(request: &Value) -> ApiResult<()> {
    let problem = match CompileRequest::deserialize(request) {
        // serde would also accept a list of the fields' values.
        _ if !request.is_object() => "it is not a JSON object".to_owned(),
        Err(error) => error.to_string(),
        Ok(form) if form.source.trim().is_empty() => "`source` is empty".to_owned(),
        Ok(form) if form.source.chars().count() > MAX_SOURCE => {
            format!("`source` has more than {MAX_SOURCE} characters")
        }
        Ok(form) => match form.out_of_range() {
            Some(problem) => problem.to_owned(),
            None => return Ok(()),
        },
    };
    Err(ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "compile-bad-request",
        "Invalid request",
        format!("The request is invalid: {problem}."),
        EXAMPLE,
    ))
}

/// Compile a kernel to AMD machine code.
///
/// Needs no AMD GPU. The compiled code is not run. A Triton source is a Python module and is imported, with the
/// isolation of a job.
#[utoipa::path(
    post,
    path = "/api/v1/compile",
    request_body = CompileRequest,
    responses(
        ApiError,
        (status = 200, description = "What the kernel uses on each target. A target that failed has an `error` instead.",
            body = CompileAnswer),
        (status = 429, description = "Too many requests are waiting.", content_type = "application/problem+json",
            body = Problem, headers(("Retry-After" = u64, description = "Seconds."))),
        (status = 503, description = "A job is timed on the processor, or the server cannot run code.",
            content_type = "application/problem+json", body = Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn compile(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let identity = app.access.authorize(&headers, Role::Submit).await?;
    app.access.check_runs_unapproved(&identity)?;
    let mut request: Value = read_json(&app, &headers, body, "a request", EXAMPLE).await?;
    for number in ["num_warps", "num_stages", "waves_per_eu"] {
        // Not those in `arguments`, which are values of the kernel.
        request.get_mut(number).map(write_integers);
    }
    check_form(&request)?;
    let runner = ready_runner(&app, &identity).await?;
    // Serialized again, because a worker reads one line.
    let answer = app.compiler.answer(&runner, request.to_string()).await;
    let answer = answer.map_err(|error| {
        let (code, title) = match error {
            RequestError::Busy(_) => {
                let (code, title) = ("compile-busy", "Too many kernels are waiting");
                return ApiError::too_many(code, title, format!("{error}."), QUEUE_MOVES);
            }
            RequestError::Timing => return ApiError::processor_in_use(),
            RequestError::TooLong(_) => ("compile-timeout", "Compiling took too long"),
            RequestError::Failed(_) => ("compile-failed", "Nothing was compiled"),
        };
        ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            code,
            title,
            format!("{error}."),
            "Make the source simpler, or compile it by hand: python -m hipward_kernels.compile FILE",
        )
    })?;
    match serde_json::from_str(&answer) {
        Ok(Answer::Compiled) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            Ok((json, answer).into_response())
        }
        Ok(Answer::Error {
            code,
            message,
            help,
            line,
        }) => {
            let detail = line.map_or(message.clone(), |line| format!("Line {line}: {message}"));
            Err(ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                &format!("compile-{code}"),
                "The source cannot be compiled",
                detail,
                help,
            ))
        }
        Err(error) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "compile-garbled",
            "The compiler's answer cannot be read",
            format!("{error}."),
            "Report this with the source.",
        )),
    }
}
