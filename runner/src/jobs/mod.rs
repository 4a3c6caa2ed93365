//! Jobs: the durable store with its event log, the queue, and the worker that runs one.
//!
//! Invariants: a job's state changes only together with an event, in one transaction; sequence
//! numbers have no gaps; only the holder of the current attempt may write; nothing follows a
//! final event.

mod compiler;
mod conversation;
mod data_folder;
mod failure;
mod heard;
mod id;
mod load;
mod output;
mod persist;
mod private_directory;
mod run;
mod runner;
mod scheduler;
mod startup;
mod store;
mod worker;

pub(crate) use compiler::{CompileError, Compiler};
pub(crate) use data_folder::prepare_data_folder;
pub(crate) use id::unguessable;
pub(crate) use private_directory::PrivateDirectory;
pub(crate) use runner::{Runner, Settings, level_name};
pub(crate) use scheduler::schedule;
pub(crate) use startup::LocalRunner;
pub(crate) use store::{Cancelled, NewJob, Store, StoreError};
