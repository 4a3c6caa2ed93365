//! The operator's settings and the fixed limits of a job.

use crate::{isolation::PermittedMechanisms, jobs::QueueLimits};
use hipward_protocol::IsolationLevel;
use std::{path::PathBuf, time::Duration};

/// The operator's settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The Python to use, if one was passed.
    pub(crate) python: Option<PathBuf>,
    /// A folder with a `hipward_kernels` to use instead of the one in this binary.
    pub(crate) kernels: Option<PathBuf>,
    /// Time limit of a job.
    pub(crate) wall_limit: Duration,
    /// Memory limit of a job, bytes.
    pub(crate) memory_bytes: u64,
    /// Limit of the sampling time per variant, seconds.
    pub(crate) time_cap_s: f64,
    /// The labels of this host.
    pub(crate) labels: Vec<String>,
    /// Maximum numbers of queued jobs.
    pub(crate) queue_limits: QueueLimits,
    /// Maximum number of running jobs of one token, other than the operator's.
    pub(crate) running_limit: Option<usize>,
    /// The isolation level below which no job runs.
    pub(crate) minimum_isolation: IsolationLevel,
    /// The same for jobs that were sent with a token other than the operator's.
    pub(crate) minimum_isolation_for_others: IsolationLevel,
    /// The isolation mechanisms that may be used.
    pub(crate) mechanisms: PermittedMechanisms,
}

impl Settings {
    /// Maximum number of processes of a job.
    pub(crate) const MAX_PROCESSES: usize = 128;
    /// Disk limit of a job's private directory, bytes.
    pub(crate) const MAX_DISK_BYTES: u64 = 4 << 30;
    /// Maximum size of a snippet, bytes.
    pub(crate) const MAX_CODE_BYTES: usize = 256 * 1024;
}
