//! A job's id as it stands in a path. What cannot be an id is answered like one that nobody has.

use super::problem::ApiError;
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

/// An id that was asked for.
pub(crate) struct JobId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for JobId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(JobId(id)),
            Err(_) => Err(ApiError::job_not_found()),
        }
    }
}
