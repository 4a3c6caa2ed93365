//! The commands, one file each: its arguments and what it does with them.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod host;
pub(crate) mod lsp;
mod scratch;
pub(crate) mod serve;
pub(crate) mod token;
