//! `POST /api/v1/compile`: a Triton or HIP source to AMD machine code, with what it uses.

use super::{
    App,
    jobs::{check_json, check_runner, read},
    problem::{ApiError, ApiResult},
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::Value;

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

/// The handler. What the request may hold is checked where it is used,
/// `kernels/hipward_kernels/compile/request.py`.
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
    check_runner(&app)?;
    // Written anew: a worker reads one line.
    let answer = app.compiler.compile(&app.runner, request.to_string()).await;
    let answer = answer.map_err(|error| {
        ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "compile-failed",
            "Nothing was compiled",
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
