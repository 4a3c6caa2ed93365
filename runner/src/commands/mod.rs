//! The commands, one module each with its arguments.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod host;
pub(crate) mod lsp;
pub(crate) mod serve;
mod temporary_folder;
pub(crate) mod token;
pub(crate) mod try_exercise;
