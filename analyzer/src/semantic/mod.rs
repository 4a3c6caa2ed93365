//! The semantic model: names resolved to the modules they come from, constants, backend guards.
//!
//! Rules use it instead of comparing text. It does not report findings.

mod backend;
mod classes;
mod constants;
mod environment;
mod guards;
mod names;
mod resolve;

pub(crate) use backend::{is_asked_of_both, names_rocm, tells_rocm_apart};
pub(crate) use classes::is_nn_module;
#[cfg(feature = "all-languages")]
pub(crate) use constants::literal_text;
pub(crate) use constants::{folded, integer, string, string_parts};
pub(crate) use environment::{Access, environment_variable};
pub(crate) use guards::{follows_an_exit, is_import_guarded, never_called, never_runs_on_target};
pub(crate) use names::Value;
pub(crate) use resolve::{QualifiedName, Semantics};
