//! Jobs: the durable store with its event log, the queue, and the workers that run them.
//!
//! Invariants: a job's state changes only together with an event, in one transaction; sequence
//! numbers have no gaps; only the lease of the current attempt may write; nothing follows a
//! final event.

mod cpp_headers;
mod data_folder;
mod data_sheet;
mod expiry;
mod failure_messages;
mod host_facts;
mod lease_messages;
mod load;
mod native_code;
mod output;
mod persist;
mod private_directory;
mod protocol_state;
mod random_id;
mod remote;
mod request_workers;
mod retention;
mod run;
mod runner;
mod scheduler;
mod server_report;
mod startup;
mod store;
mod work_source;
mod worker;
mod worker_output;

pub(crate) use data_folder::prepare_data_folder;
pub(crate) use expiry::expire_leases;
pub(crate) use host_facts::{HostFacts, describe, is_label, machine_name, meets, server_name};
pub(crate) use lease_messages::{
    AppendRequest, FreeDevice, HandBackRequest, HostReport, LeasedJob, RenewRequest, WaitRequest,
};
pub(crate) use private_directory::PrivateDirectory;
pub(crate) use random_id::random_id;
pub(crate) use remote::{RemoteSource, ReportError};
pub(crate) use request_workers::{RequestError, RequestWorkers};
pub(crate) use retention::apply_retention;
pub(crate) use runner::{Refusal, Runner, Settings};
pub(crate) use scheduler::{run_jobs, schedule};
pub(crate) use server_report::{REPORT_INTERVAL, report_server};
pub(crate) use startup::LocalRunner;
pub(crate) use store::{
    ApprovalOutcome, CancelOutcome, Delivery, JobFilter, Lease, NewJob, Newest, Pending,
    QueueLimits, RecentReports, RemoveOutcome, Retention, Role, RunningJob, Store, StoreError,
    back_up, cookie_value, lock_data_folder, restore,
};
