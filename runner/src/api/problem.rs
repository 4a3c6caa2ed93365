//! Errors of requests as RFC 9457 problem details: a status, a stable
//! code, what happened, and what to do.

use crate::jobs::StoreError;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use hipward_protocol::Problem;
use std::{collections::BTreeMap, time::Duration};
use utoipa::{
    IntoResponses,
    openapi::{Ref, RefOr},
};

/// `Retry-After` of a full queue: about the duration of a job.
const QUEUE_MOVES: Duration = Duration::from_secs(60);

/// `Retry-After` while a job is timed on the processor.
const JOB_ENDS: Duration = Duration::from_secs(30);

/// A refused or failed request.
#[derive(Debug)]
pub(crate) struct ApiError {
    problem: Box<Problem>,
    /// When to retry.
    retry_after: Option<Duration>,
}

/// What handlers return.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// A problem. `title` is the same for every occurrence of `code`.
    pub(crate) fn new(
        status: StatusCode,
        code: &str,
        title: &str,
        detail: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        ApiError {
            problem: Box::new(Problem {
                kind: "about:blank".to_owned(),
                title: title.to_owned(),
                status: status.as_u16(),
                code: code.to_owned(),
                detail: detail.into(),
                help: help.into(),
            }),
            retry_after: None,
        }
    }

    /// Too many requests. The response has a `Retry-After` header.
    pub(crate) fn too_many(code: &str, title: &str, detail: String, retry_after: Duration) -> Self {
        let help = format!("Try again in {} seconds.", retry_after.as_secs());
        ApiError {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, code, title, detail, help)
        }
    }

    /// A request that runs code while a job is timed on the processor. The response has a `Retry-After` header.
    pub(crate) fn processor_in_use() -> Self {
        let help = format!("Try again in {} seconds.", JOB_ENDS.as_secs());
        ApiError {
            retry_after: Some(JOB_ENDS),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "processor-in-use",
                "A benchmark runs on the processor",
                "A job is being timed on the processor of this server. This request would make its times too long.",
                help,
            )
        }
    }

    /// A request whose body cannot be used.
    pub(crate) fn bad_request(
        code: &str,
        title: &str,
        detail: impl Into<String>,
        help: &str,
    ) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, title, detail, help)
    }

    /// No job has this id.
    pub(crate) fn job_not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "job-not-found",
            "No such job",
            "No job has this id.",
            "Check the address. Jobs are stored in the data folder of the server that ran them, until they are deleted.",
        )
    }

    /// No route has this path.
    pub(crate) fn route_not_found(path: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "No such address",
            format!("The API has no route {path}."),
            "See /api/openapi.json for the routes.",
        )
    }

    /// The path has a route, but not for this method.
    pub(crate) fn method_not_allowed(method: &str, path: &str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            format!("{path} does not support {method}."),
            "See /api/openapi.json for its methods.",
        )
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &str {
        &self.problem.code
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if let StoreError::QueueFull { waiting } = error {
            let detail = format!("{waiting} jobs are waiting for a device, which is the maximum.");
            return Self::too_many("queue-full", "The queue is full", detail, QUEUE_MOVES);
        }
        if let StoreError::OwnerQueueFull { waiting } = error {
            let title = "The queue is full for this token";
            let detail = format!("{waiting} jobs of this token are waiting, which is the maximum.");
            return Self::too_many("token-queue-full", title, detail, QUEUE_MOVES);
        }
        if let StoreError::DeviceTimeSpent { limit, retry_after } = error {
            let title = "The device time of this token is spent";
            let detail = format!(
                "Jobs of this token have used devices for {} minutes today (UTC), which is the maximum.",
                limit.as_secs() / 60
            );
            return Self::too_many("token-device-time-spent", title, detail, retry_after);
        }
        tracing::error!("{error}");
        let status = match error {
            // A state of the host, which its operator can change.
            StoreError::Damaged { .. }
            | StoreError::DiskFull
            | StoreError::ReadOnly
            | StoreError::Unreachable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(
            status,
            "store-unavailable",
            "The job store failed",
            error.to_string(),
            "Try again. If it persists, check the server's log and the free space of its disk.",
        )
    }
}

impl ApiError {
    /// The problem as a page without the site's styles, for a browser that may not load them.
    pub(crate) fn into_page(self) -> Response {
        let [title, detail, help] = [
            &self.problem.title,
            &self.problem.detail,
            &self.problem.help,
        ]
        .map(|text| html_escape::encode_text(text));
        let page = plain_page(&title, "", &format!("<p>{detail}</p><p>{help}</p>"));
        (self.status(), Html(page)).into_response()
    }
}

/// A page without the site's styles and without scripts. The texts are HTML; `head` follows the title.
pub(super) fn plain_page(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>{head}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><h1>{title}</h1>{body}</html>"
    )
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&*self.problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs()));
        }
        response
    }
}

impl IntoResponses for ApiError {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let problem = Ref::from_response_name("Problem");
        BTreeMap::from([("default".to_owned(), RefOr::Ref(problem))])
    }
}
