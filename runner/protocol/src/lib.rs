//! The types that the runner, the site and the command line share: jobs, devices, events,
//! statistics and problems, as serde types.
//!
//! Data and pure functions only, without I/O, clocks or async: this crate is compiled into
//! the browser modules as well as into the server.

mod device;
mod event;
mod failure;
mod fleet;
mod harness;
mod job;
mod measurement;
mod problem;
mod requirements;
mod stats;
mod variant;
mod view;

pub use device::{Capabilities, Device, Isolation, IsolationLevel, Missing, Vendor};
pub use event::{Event, EventBody, LogStream};
pub use failure::{Failure, FailureCode};
pub use fleet::{Fleet, FleetDevice, FleetHost, FleetJob, HostState, Pause};
pub use harness::{HarnessJob, HarnessLine, HarnessMessage};
pub use job::{JobRequest, JobState, JobSummary, ListedJob, PendingJob, Rejection};
pub use measurement::{
    Advice, Environment, HostLoad, Hot, Idle, Measurement, OutputError, Roofline, Step,
};
pub use problem::Problem;
pub use requirements::{Priority, Requirements};
pub use stats::{Comparison, Outcome, Stats, StopReason, Verdict};
pub use variant::{Variant, VariantId, label};
pub use view::{CurrentStep, JobView, PrecisionView, VariantStatus, VariantView};
