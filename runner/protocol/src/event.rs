//! The event log of a job: what the runner stores, and what the browser is streamed.

use crate::{Device, Failure, Measurement, Stats, VariantId, Verdict};
use serde::{Deserialize, Serialize};

/// One line of a job's log. `seq` starts at 1 and has no gaps; it is the SSE `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Position in the log.
    pub seq: u64,
    /// The try it belongs to; 0 before the first lease.
    pub attempt: u32,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. The tag is the SSE-independent field `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// Waits; `position` 0 is next. The log has it once for each time the job is queued. While it waits, a stream
    /// repeats it, with the same `seq`, when the position has changed.
    Queued {
        /// Jobs ahead of it when this was written.
        position: usize,
        /// Why it is queued again, after a restart of the runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Holds a device; everything before belongs to an earlier try.
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
    /// Text that the snippet or its libraries wrote.
    Log {
        /// Where it was written.
        stream: LogStream,
        /// The text; invalid UTF-8 replaced.
        text: String,
    },
    /// What the measurements say.
    Verdict(Verdict),
    /// Final: all went well.
    Done,
    /// Final: it ended early.
    Failed(Failure),
    /// Final: it was cancelled.
    Cancelled,
    /// What the harness said, as it said it.
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

/// Which stream a text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Hipward itself: truncation, retries.
    Runner,
}
