//! The messages between a server and a host that `hipward worker` has joined to it.

use super::{host_facts::HostFacts, store::Lease};
use hipward_protocol::{Capabilities, Device, EventBody, VariantId};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// A device that is free, which a host reports when it waits for a job or requests one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct FreeDevice {
    /// The name of the host.
    #[schema(max_length = 64, pattern = "^[0-9A-Za-z._-]+$")]
    pub(crate) host: String,
    /// The device that is free. Its id begins with the host's name and a slash.
    pub(crate) device: Device,
    /// Whether the device also runs jobs that name no device.
    pub(crate) unassigned: bool,
    /// What jobs can require of the host.
    #[serde(default)]
    pub(crate) facts: HostFacts,
}

/// What a host can run, which it reports at intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct HostReport {
    /// Its devices, variants and limits.
    #[serde(flatten)]
    pub(crate) capabilities: Capabilities,
    /// What jobs can require of it.
    #[serde(default)]
    pub(crate) facts: HostFacts,
}

/// A request to wait until a job can be leased.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct WaitRequest {
    /// The device.
    #[serde(flatten)]
    pub(crate) free: FreeDevice,
    /// How long to wait, seconds.
    pub(crate) wait_s: f64,
}

/// A job with the right to run it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct LeasedJob {
    /// The job.
    pub(crate) job: String,
    /// The attempt.
    pub(crate) attempt: u32,
    /// The snippet.
    pub(crate) code: String,
    /// SHA-256 of the snippet.
    pub(crate) code_sha256: String,
    /// The variants.
    pub(crate) variants: Vec<VariantId>,
    /// The lease expires this long after its last renewal, seconds.
    pub(crate) valid_s: f64,
}

/// Events of a leased job.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct AppendRequest {
    /// The number of events of this attempt that were sent before.
    pub(crate) after: usize,
    /// The events.
    pub(crate) events: Vec<EventBody>,
}

/// A renewal of a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct RenewRequest {
    /// Whether the code of the job has started.
    pub(crate) begun: bool,
}

/// The return of a job to the queue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct HandBackRequest {
    /// Why the host does not run the job.
    pub(crate) reason: String,
}

impl LeasedJob {
    /// The message of a lease that is valid for this time.
    pub(crate) fn new(lease: Lease, valid: Duration) -> Self {
        LeasedJob {
            job: lease.job,
            attempt: lease.attempt,
            code: lease.code,
            code_sha256: lease.code_sha256,
            variants: lease.variants,
            valid_s: valid.as_secs_f64(),
        }
    }
}

impl From<LeasedJob> for Lease {
    fn from(leased: LeasedJob) -> Self {
        Lease {
            job: leased.job,
            attempt: leased.attempt,
            code: leased.code,
            code_sha256: leased.code_sha256,
            variants: leased.variants,
        }
    }
}
