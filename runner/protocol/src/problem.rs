//! Errors of the API, as RFC 9457 problem details.

use serde::{Deserialize, Serialize};

/// The body of every response that is not a success; media type `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `about:blank`, or the address of the page that explains `code`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Short, and the same for every occurrence of `code`.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Stable code: `invalid-json`, `code-too-large`, `job-not-found`.
    pub code: String,
    /// What happened in this request.
    pub detail: String,
    /// What to do about it.
    pub help: String,
}
