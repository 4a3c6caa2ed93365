//! Reads the bodies of requests: within a time, up to a size, as JSON.

use super::{
    App,
    problem::{ApiError, ApiResult},
};
use crate::jobs::Settings;
use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header},
};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

/// Maximum size of a body. More than the largest snippet, because JSON may escape a byte as six.
const BODY_BYTES: usize = 2 * 1024 * 1024;
/// After this many bytes the connection is closed while the client is still sending.
const READ_AWAY_BYTES: usize = 64 * 1024 * 1024;

/// Reads the whole body within the server's time limit. A body that is too large is still read up to a limit, because a browser
/// shows a response only after it has sent everything.
pub(super) async fn read(app: &App, body: Body) -> ApiResult<Vec<u8>> {
    timeout(app.body_timeout, read_body(body))
        .await
        .unwrap_or_else(|_| {
            Err(ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "body-timeout",
                "The body took too long",
                format!(
                    "The whole body was not received within {} seconds.",
                    app.body_timeout.as_secs()
                ),
                "Send the request again, over a faster connection.",
            ))
        })
}

async fn read_body(body: Body) -> ApiResult<Vec<u8>> {
    let mut stream = body.into_data_stream();
    let mut kept = Vec::new();
    let mut seen = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::bad_request(
                "body-incomplete",
                "The body is incomplete",
                format!("{error}."),
                "Send the request again.",
            )
        })?;
        seen += chunk.len();
        if seen <= BODY_BYTES {
            kept.extend_from_slice(&chunk);
        } else if seen > READ_AWAY_BYTES {
            break;
        }
    }
    if seen > BODY_BYTES {
        return Err(too_large("The request"));
    }
    Ok(kept)
}

/// Reads a JSON body of a request that is no job. `what` says what the body should be, and `help` what to send.
pub(super) async fn read_json<T: DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    what: &str,
    help: &str,
) -> ApiResult<T> {
    check_json(headers)?;
    from_json(&read(app, body).await?).map_err(|error| {
        ApiError::bad_request(
            "invalid-json",
            &format!("The body is not {what}"),
            format!("{error}."),
            help,
        )
    })
}

/// Parses JSON. A whole number may be written as `1.0`, which is an integer for a JSON schema, and not for serde.
pub(super) fn from_json<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text).or_else(|error| {
        let mut value = serde_json::from_slice(text)?;
        if !write_integers(&mut value) {
            return Err(error);
        }
        // This error would have no line.
        T::deserialize(value).map_err(|_| error)
    })
}

/// Changes `1.0` to `1`. Returns whether there was one.
pub(super) fn write_integers(value: &mut Value) -> bool {
    // Larger ones are not exact.
    const LARGEST: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() <= LARGEST);
            if let Some(float) = whole {
                *number = (float as i64).into();
            }
            whole.is_some()
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |found, item| write_integers(item) | found),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |found, item| write_integers(item) | found),
        _ => false,
    }
}

/// Checks that the content type is JSON.
pub(super) fn check_json(headers: &HeaderMap) -> ApiResult<()> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            format!("The content type of the body is {media_type:?}."),
            "Send JSON with the header `Content-Type: application/json`.",
        ));
    }
    Ok(())
}

/// Checks the size of a file that a client sent.
pub(super) fn check_code(code: &str) -> ApiResult<()> {
    if code.len() > Settings::MAX_CODE_BYTES {
        return Err(too_large("The code"));
    }
    Ok(())
}

fn too_large(what: &str) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "code-too-large",
        "Too large",
        format!(
            "{what} is larger than {} KiB.",
            Settings::MAX_CODE_BYTES / 1024
        ),
        "Send only the module and its inputs; generate data in get_inputs().",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Numbers {
        integers: Vec<u64>,
        float: f64,
    }

    #[test]
    fn whole_number_is_an_integer_however_it_is_written() {
        let parse = |text: &str| from_json::<Numbers>(text.as_bytes());
        let expected = Numbers {
            integers: vec![1, 2],
            float: 3.0,
        };
        let text = r#"{"integers": [1.0, 2e0], "float": 3.0}"#;
        assert_eq!(parse(text).expect("is valid"), expected);
        for invalid in [
            r#"{"integers": [1.5], "float": 0}"#,
            r#"{"integers": [-1.0], "float": 0}"#,
            r#"{"integers": [1e300], "float": 0}"#,
            r#"{"integers": [1.0], "#,
        ] {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
        let error = parse("{\n\"integers\": [1.0],\n\"float\": null}").expect_err("no number");
        assert!(error.line() > 1, "{error}");
    }
}
