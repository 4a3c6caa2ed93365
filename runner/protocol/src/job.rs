//! Requests for jobs, and their state.

use crate::{Failure, Priority, Requirements, VariantId};
use serde::{Deserialize, Serialize};

/// The body of `POST /api/v1/jobs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// Python source that follows the snippet contract: `class Model(nn.Module)`, `get_inputs()`,
    /// `get_init_inputs()`, optionally `ModelNew`. At most 256 KiB.
    #[cfg_attr(
        feature = "openapi",
        schema(
            max_length = 262_144,
            pattern = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
        )
    )]
    pub code: String,
    /// Title of the result page; at most 120 characters.
    #[cfg_attr(feature = "openapi", schema(max_length = 120))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The variants to run. Empty means all of them. `eager` and `eager-control` always run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantId>,
    /// A device id from `GET /api/v1/devices`. Absent means the first free GPU,
    /// or the processor where there is no GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Names that group jobs, such as the branch or the model. At most 8.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Label>, max_items = 8))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Conditions on the host and the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Requirements>,
    /// The priority; absent means `normal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
}

/// A name that groups jobs: letters, digits and `._/@:+-`, beginning with a letter or digit.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, max_length = 64, pattern = "^[0-9A-Za-z][0-9A-Za-z._/@:+-]*$", example = "main")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Label(String);

/// State of a job. `done`, `failed` and `cancelled` are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits until an operator has approved its code.
    AwaitingApproval,
    /// It waits for a device.
    Queued,
    /// It runs on a device.
    Running,
    /// It has finished. The verdict is in the event log.
    Done,
    /// It has ended early. [`JobSummary::failure`] has the reason.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// Whether no further event can follow.
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
    /// Random id, part of the permalink `/jobs/{id}/`.
    pub id: String,
    /// The title of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its state.
    pub state: JobState,
    /// Number of the attempt, from 1; 0 before the first lease.
    pub attempt: u32,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The requested variants.
    pub variants: Vec<VariantId>,
    /// The labels of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The device of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_device: Option<String>,
    /// The conditions of the request on the host and the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Requirements>,
    /// SHA-256 of the code, hexadecimal.
    pub code_sha256: String,
    /// Sequence number of the newest event.
    pub last_seq: u64,
    /// Jobs ahead of it, while it is queued, counted up to 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// A job whose code waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingJob {
    /// The job.
    #[serde(flatten)]
    pub job: JobSummary,
    /// The name of the sender. Absent if the job was submitted without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The job with the code that was approved last, of the same sender or with the same title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_approved: Option<String>,
}

/// The body of `POST /api/v1/jobs/{id}/reject`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// Why the code is rejected, for the author; 1 to 500 characters.
    #[cfg_attr(
        feature = "openapi",
        schema(
            max_length = 500,
            pattern = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
        )
    )]
    pub reason: String,
}

/// A job in a list of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListedJob {
    /// The job.
    #[serde(flatten)]
    pub job: JobSummary,
    /// The result in one sentence, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The device that it was leased to last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The name of the sender. Absent if the job was submitted without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}
