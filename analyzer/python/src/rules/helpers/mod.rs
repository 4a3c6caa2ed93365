//! Code that several rules share. No rule is in here.

pub(crate) mod calls;
pub(crate) mod commands;
pub(crate) mod configurations;
pub(crate) mod counterparts;
pub mod edits;
pub(crate) mod kernels;
pub(crate) mod modules;
pub mod table_rules;
pub(crate) mod timing;
