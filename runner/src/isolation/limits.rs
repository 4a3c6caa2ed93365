//! Resource limits: those that the kernel enforces per process, and the totals that the supervisor
//! enforces for the whole process tree.

use nix::{
    errno::Errno,
    sys::resource::{Resource, getrlimit, setrlimit},
};
use serde::{Deserialize, Serialize};

/// Maximum number of descriptors of a process, the default of most systems. Sockets use memory that no kernel limit
/// counts, so the number must be limited.
const DESCRIPTORS: u64 = 1024;

/// Limits of a worker and all of its processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Memory of all its processes, bytes.
    pub(crate) memory_bytes: u64,
    /// Files in its private directory, bytes.
    pub(crate) disk_bytes: u64,
    /// Processes.
    pub(crate) processes: usize,
    /// Maximum number of threads of its user; see [`Limits::threads`].
    pub(crate) threads: u64,
}

impl Limits {
    /// The number of threads for a PyTorch process with one or two compilers.
    /// The kernel counts threads per user, so the threads that the server's user has already are added
    /// unless the worker gets a user of its own.
    pub(crate) fn threads(existing: u64) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        existing + 1024 + 8 * cores
    }

    /// Applies the kernel's part to this process. Not `RLIMIT_AS`: GPU runtimes reserve far more
    /// address space than they use.
    pub(super) fn apply(&self) -> Result<(), Errno> {
        let exactly = |resource, value| setrlimit(resource, value, value);
        exactly(Resource::RLIMIT_CORE, 0)?;
        exactly(Resource::RLIMIT_DATA, self.memory_bytes)?;
        exactly(Resource::RLIMIT_FSIZE, self.disk_bytes)?;
        // A process without root cannot set a limit above the hard limit.
        let (_, hard_limit) = getrlimit(Resource::RLIMIT_NOFILE)?;
        exactly(Resource::RLIMIT_NOFILE, DESCRIPTORS.min(hard_limit))?;
        exactly(Resource::RLIMIT_MSGQUEUE, 0)?;
        exactly(Resource::RLIMIT_NPROC, self.threads)
    }
}
