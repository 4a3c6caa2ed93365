//! `POST /api/v1/compile`: a Triton or HIP source to AMD machine code, with what it uses.

use super::{
    App,
    jobs::{check_json, read, ready_runner},
    problem::{ApiError, ApiResult},
};
use crate::jobs::CompileError;
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// What a worker answers, as far as the server has to know it.
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

/// Longest source, characters.
const MOST_SOURCE: usize = 256 * 1024;
/// A place in the queue is free again after about this time.
const QUEUE_MOVES: Duration = Duration::from_secs(15);

/// The form of a request, checked before a worker is used up by it. What its values may be is checked again, and in full,
/// where they are used: `kernels/hipward_kernels/compile/request.py`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only their types are checked")]
struct Form {
    language: Language,
    source: String,
    archs: Option<Vec<String>>,
    kernel: Option<String>,
    arguments: Option<Map<String, Value>>,
    num_warps: Option<u32>,
    num_stages: Option<u32>,
    waves_per_eu: Option<u32>,
    flags: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    Triton,
    Hip,
}

fn check_form(request: &Value) -> ApiResult<()> {
    let problem = match Form::deserialize(request) {
        // A list of the fields' values would be taken, too.
        _ if !request.is_object() => "a request is a JSON object".to_owned(),
        Err(error) => error.to_string(),
        Ok(form) if form.source.trim().is_empty() => "source is the text of the kernel".to_owned(),
        Ok(form) if form.source.chars().count() > MOST_SOURCE => {
            format!("source has more than {MOST_SOURCE} characters")
        }
        Ok(_) => return Ok(()),
    };
    Err(ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "compile-bad-request",
        "The request cannot be used",
        format!("The request cannot be used: {problem}."),
        r#"Send an object such as {"language": "triton", "source": "…", "archs": ["gfx942"]}."#,
    ))
}

/// The handler.
pub(crate) async fn compile(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    app.guard.check_token(&headers)?;
    check_json(&headers)?;
    let request: Value = serde_json::from_slice(&read(body).await?).map_err(|error| {
        ApiError::bad_request(
            "invalid-json",
            "The body is not a request",
            format!("{error}."),
            r#"Send an object such as {"language": "triton", "source": "…", "archs": ["gfx942"]}."#,
        )
    })?;
    check_form(&request)?;
    let runner = ready_runner(&app).await?;
    // Written anew: a worker reads one line.
    let answer = app.compiler.compile(&runner, request.to_string()).await;
    let answer = answer.map_err(|error| {
        let (code, title) = match error {
            CompileError::Busy => {
                let (code, title) = ("compile-busy", "Too many kernels wait");
                return ApiError::too_many(code, title, format!("{error}."), QUEUE_MOVES);
            }
            CompileError::TooLong => ("compile-timeout", "Compiling took too long"),
            CompileError::Failed(_) => ("compile-failed", "Nothing was compiled"),
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
