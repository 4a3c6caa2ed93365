//! The sender of a request.

use super::problem::{ApiError, ApiResult};
use crate::jobs::Role;
use axum::http::StatusCode;

/// The sender of a request, as far as its token shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The name of the token. None for the operator's own token, and on servers that require none.
    pub(crate) name: Option<String>,
    /// The role of the token.
    pub(crate) role: Role,
}

impl Identity {
    pub(super) const OPERATOR: Identity = Identity {
        name: None,
        role: Role::Operate,
    };

    /// Whether this sender may send a request that needs a role. The operator's own token permits everything.
    pub(super) fn permits(&self, role: Role) -> bool {
        *self == Identity::OPERATOR || self.role.permits(role)
    }

    /// The name under which jobs of requests without a token are stored. No token can have it.
    pub(crate) const ANONYMOUS: &str = "anonymous";

    /// The sender of a request without a token.
    pub(super) fn anonymous() -> Identity {
        Identity {
            name: Some(Self::ANONYMOUS.to_owned()),
            role: Role::Read,
        }
    }

    /// Whether the request had no token, although the server requires one.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.name.as_deref() == Some(Self::ANONYMOUS)
    }

    /// Checks that this sender may cancel or delete the job of `owner`.
    pub(crate) fn check_owner(&self, owner: Option<&str>) -> ApiResult<()> {
        if self.role >= Role::Operate || self.name.as_deref() == owner {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "not-the-owner",
            "This is the job of another sender",
            "A token with the role `submit` can cancel and delete only the jobs that were submitted with it.",
            "Use the token that submitted the job, or one with the role `operate`.",
        ))
    }
}
