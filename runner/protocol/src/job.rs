//! What a client asks for, and what a job is.

use crate::{Failure, VariantId};
use serde::{Deserialize, Serialize};

/// The body of `POST /api/v1/jobs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// Python source that follows the snippet contract: `class Model(nn.Module)`, `get_inputs()`,
    /// `get_init_inputs()`, optionally `ModelNew`.
    pub code: String,
    /// A name for the result page; at most 120 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The variants to run; empty means all of them. `eager` always runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantId>,
    /// A device id from `GET /api/v1/devices`; absent means the first GPU that is free,
    /// or the processor where there is no GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Where a job stands. `Done`, `Failed` and `Cancelled` are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Waits for a device.
    Queued,
    /// Holds a device; its process runs.
    Running,
    /// Every requested variant ended; the verdict is in the event log.
    Done,
    /// Ended early; [`JobSummary::failure`] says why and what to do.
    Failed,
    /// Ended on request.
    Cancelled,
}

impl JobState {
    /// True when no further event can come.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            JobState::Done | JobState::Failed | JobState::Cancelled
        )
    }
}

/// A job without its events: `GET /api/v1/jobs/{id}` and the answer to `POST`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobSummary {
    /// Unguessable id; part of the permalink `/jobs/{id}/`.
    pub id: String,
    /// The title that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// Which try this is; starts at 1, 0 while it was never leased.
    pub attempt: u32,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The requested variants.
    pub variants: Vec<VariantId>,
    /// SHA-256 of the code, hexadecimal.
    pub code_sha256: String,
    /// Sequence number of the newest event.
    pub last_seq: u64,
    /// Jobs ahead of it, while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Why it failed, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}
