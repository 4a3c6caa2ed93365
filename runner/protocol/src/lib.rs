//! The words that the runner, the site and the command line share: jobs, devices, events,
//! statistics and problems, as serde types.
//!
//! Pure data and pure functions over it. No I/O, no clock, no async: this crate is compiled into
//! the browser's islands as well as into the server.

mod device;
mod event;
mod job;
mod problem;
mod stats;
mod view;

pub use device::{Capabilities, Device, Isolation, IsolationLevel, Missing, Vendor};
pub use event::{
    Advice, Environment, Event, EventBody, FailureCode, HarnessJob, HarnessLine, HarnessMessage,
    Hot, Idle, LogStream, OutputError, Roofline,
};
pub use job::{JobRequest, JobState, JobSummary, Variant};
pub use problem::Problem;
pub use stats::{Comparison, Outcome, Stats, StopReason, Verdict};
pub use view::{JobView, PrecisionView, VariantStatus, VariantView};
