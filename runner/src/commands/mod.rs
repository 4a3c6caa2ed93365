//! The commands, one module each with its arguments.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod check;
mod data;
mod database;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod host;
pub(crate) mod lsp;
mod oidc_args;
mod public_args;
pub(crate) mod rules;
pub(crate) mod run_kernel;
pub(crate) mod serve;
mod service;
mod temporary_folder;
pub(crate) mod token;
pub(crate) mod token_args;
pub(crate) mod try_exercise;
pub(crate) mod worker;
