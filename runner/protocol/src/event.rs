//! The event log of a job, which the runner stores and streams to clients.

use crate::{Device, Failure, Measurement, Stats, VariantId, Verdict};
use serde::{Deserialize, Serialize};

/// One event of a job's log. `seq` starts at 1 and has no gaps. It is the `id` of the server-sent event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Position in the log.
    pub seq: u64,
    /// The attempt it belongs to; 0 before the first lease.
    pub attempt: u32,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// The content of an event. The field `type` names its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The job waits until an operator has approved its code.
    AwaitingApproval,
    /// An operator has approved the code. A `queued` event follows.
    Approved,
    /// The job is queued. The log has this event once for each time the job is queued. While it waits, a stream
    /// repeats it, with the same `seq`, when the position or the reason has changed.
    Queued {
        /// Jobs ahead of it, counted up to 10,000. 0 means that it is next.
        position: usize,
        /// Why it is queued again, after a restart of the runner. In a repeated event also why no host can run it at present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The job has been leased to a device. Earlier events belong to earlier attempts.
    Leased {
        /// The device.
        device: Device,
    },
    /// A variant's sampling ended.
    VariantDone {
        /// The variant.
        variant: VariantId,
        /// Its statistics, computed by the runner.
        stats: Stats,
    },
    /// Output of the snippet or its libraries.
    Log {
        /// The stream it was written to.
        stream: LogStream,
        /// The text; invalid UTF-8 replaced.
        text: String,
    },
    /// The result of the statistics.
    Verdict(Verdict),
    /// Final: the job is done.
    Done,
    /// Final: the job failed.
    Failed(Failure),
    /// Final: the job was cancelled.
    Cancelled,
    /// A line of the harness, unchanged.
    #[serde(untagged)]
    Measured(Measurement),
}

impl EventBody {
    /// True for the last event of a log.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            EventBody::Done | EventBody::Failed(_) | EventBody::Cancelled
        )
    }
}

/// The origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Hipward: notes on truncation and retries.
    Runner,
}
