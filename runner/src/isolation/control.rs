//! What the server and a supervisor say to each other: one JSON value a line, over a socket pair
//! that no one else holds. When the server's end closes, however it died, the supervisor kills
//! what it runs.

use super::Plan;
use serde::{Deserialize, Serialize};

/// The supervisor's end of the socket pair.
pub(super) const CONTROL_FD: i32 = 4;
/// The worker's private pipe for its lines.
pub(crate) const EVENTS_FD: i32 = 3;

/// Server to supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Start this. The first order, given once.
    Run(Box<Plan>),
    /// The job begins now; its time runs.
    Begin {
        /// How long it may take.
        wall_limit_ms: u64,
    },
    /// Kill everything now.
    Kill,
}

/// Supervisor to server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It runs, behind the whole fence.
    Started {
        /// The process id.
        pid: i32,
    },
    /// It does not run.
    NotStarted {
        /// Why.
        message: String,
    },
    /// It still watches. Sent each second.
    Alive,
    /// It ended. Sent as soon as that is decided; the supervisor exits when all its processes
    /// are gone.
    Ended(Ending),
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ending {
    /// By itself.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// By a signal that was not ours.
    Signalled {
        /// Which.
        signal: i32,
    },
    /// It was killed for this.
    OverLimit(Limit),
    /// It was killed because the server said so.
    Killed,
}

/// Limits that the supervisor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    /// Time since the job began.
    WallClock,
    /// Memory of all processes.
    Memory,
    /// Number of processes.
    Processes,
    /// Bytes in the private directory.
    Disk,
}
