//! The protocol between the server and a supervisor: one JSON value per line, over a socket pair
//! that no other process has. When the server's end closes for any reason, the supervisor kills
//! its worker.

use super::SandboxSpec;
use serde::{Deserialize, Serialize};

/// The supervisor's end of the socket pair.
pub(super) const CONTROL_FD: i32 = 4;
/// The worker's private pipe for protocol lines.
pub(crate) const EVENTS_FD: i32 = 3;

/// From the server to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorCommand {
    /// Start a worker. The first command, sent once.
    Run(Box<SandboxSpec>),
    /// The job starts now, and with it the time limit.
    Begin {
        /// Time limit, milliseconds.
        wall_limit_ms: u64,
    },
    /// Kill the worker and all of its processes.
    Kill,
}

/// From the supervisor to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorReport {
    /// The worker runs in its sandbox.
    Started {
        /// Its process id.
        pid: i32,
    },
    /// The worker could not be started.
    NotStarted {
        /// The reason.
        message: String,
    },
    /// Heartbeat, sent each second.
    Alive,
    /// The worker has ended, or is going to be killed. The supervisor exits when all processes
    /// have ended.
    Ended(ExitReason),
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ExitReason {
    /// It exited.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// It was killed by a signal that the supervisor did not send.
    Signalled {
        /// The signal.
        signal: i32,
    },
    /// It exceeded a limit and was killed.
    OverLimit(Limit),
    /// The server requested the kill.
    Killed,
}

/// The limits that the supervisor enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    /// Time since the job started.
    WallClock,
    /// Memory of all processes.
    Memory,
    /// Number of processes.
    Processes,
    /// Bytes in the private directory.
    Disk,
    /// Number of files in the private directory.
    Files,
    /// A folder in the private directory cannot be read, so its files cannot be counted.
    UnreadableFolder,
}
