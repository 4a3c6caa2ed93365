//! Resource limits: those the kernel enforces per process, and the sums that the supervisor
//! watches over the whole tree.

use nix::{
    errno::Errno,
    sys::resource::{Resource, getrlimit, setrlimit},
};
use serde::{Deserialize, Serialize};

/// Descriptors of a process: what most systems start a program with. Sockets hold memory that no limit of the kernel's
/// counts, so that more of them would be more of that.
const DESCRIPTORS: u64 = 1024;

/// What a worker and everything it starts may use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Memory of all its processes, bytes.
    pub(crate) memory_bytes: u64,
    /// Files in its private directory, bytes.
    pub(crate) disk_bytes: u64,
    /// Processes.
    pub(crate) processes: usize,
    /// Threads of its user at most, where the kernel counts them; see [`Limits::threads`].
    pub(crate) threads: u64,
}

impl Limits {
    /// Threads that a PyTorch process may reasonably have, with a compiler or two beside it.
    /// The kernel counts threads per user, so those that our user already has are added on top
    /// unless the worker gets a user of its own.
    pub(crate) fn threads(already: u64) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        already + 1024 + 8 * cores
    }

    /// Applies the kernel's part to this process. Not `RLIMIT_AS`: GPU runtimes reserve far more
    /// address space than they use.
    pub(super) fn apply(&self) -> Result<(), Errno> {
        let exactly = |resource, value| setrlimit(resource, value, value);
        exactly(Resource::RLIMIT_CORE, 0)?;
        exactly(Resource::RLIMIT_DATA, self.memory_bytes)?;
        exactly(Resource::RLIMIT_FSIZE, self.disk_bytes)?;
        // Above the hard limit it could not be set, and without root not raised again.
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        exactly(Resource::RLIMIT_NOFILE, DESCRIPTORS.min(most))?;
        exactly(Resource::RLIMIT_MSGQUEUE, 0)?;
        exactly(Resource::RLIMIT_NPROC, self.threads)
    }
}
