//! Everything that can go wrong with a request, as RFC 9457 problem details: a status, a stable
//! code, what happened, and what to do.

use crate::jobs::StoreError;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use hipward_protocol::Problem;

/// A refused or failed request.
#[derive(Debug)]
pub(crate) struct ApiError(Box<Problem>);

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
        ApiError(Box::new(Problem {
            kind: "about:blank".to_owned(),
            title: title.to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: detail.into(),
            help: help.into(),
        }))
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
            "Check the address. Jobs are kept in the data folder of the server that ran them.",
        )
    }

    /// No route has this path.
    pub(crate) fn route_not_found(path: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "No such address",
            format!("The API has nothing at {path}."),
            "See /api/openapi.json for what there is.",
        )
    }

    /// The path is right and the method is not.
    pub(crate) fn method_not_allowed(method: &str, path: &str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            format!("{path} does not take {method}."),
            "See /api/openapi.json for what it takes.",
        )
    }

    /// The status, for the metrics and the tests.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!("{error}");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "store-unavailable",
            "The job store does not work",
            error.to_string(),
            "Try again; if it stays, look at the server's own log and at the free space of its disk.",
        )
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&*self.0)).into_response();
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        response
    }
}
