//! Whose code waits until an operator has approved it.

use super::AccessControl;
use crate::{
    api::{
        identity::Identity,
        problem::{ApiError, ApiResult},
    },
    jobs::Role,
};
use axum::http::StatusCode;

impl AccessControl {
    /// Whether code of this sender waits for approval. An operator's does not, unless the server requires no token, because
    /// then everybody is its operator.
    pub(crate) fn needs_approval(&self, identity: &Identity) -> bool {
        self.access.approve && (identity.role < Role::Operate || self.requires_no_token())
    }

    /// Fails if code of this sender waits for approval, for requests that cannot wait.
    pub(crate) fn check_runs_unapproved(&self, identity: &Identity) -> ApiResult<()> {
        if !self.needs_approval(identity) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "approval-required",
            "Only approved code runs here",
            "On this server an operator must approve code before it runs, which is possible for benchmark jobs only.",
            "Run it on your own machine: `hipward serve`.",
        ))
    }
}
