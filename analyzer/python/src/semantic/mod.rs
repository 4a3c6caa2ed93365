//! The semantic model: names resolved to the modules they come from, constants, backend guards.
//!
//! Rules use it instead of comparing text. It does not report findings.

mod backend;
mod classes;
mod constants;
mod environment;
mod guards;
mod literal;
mod names;
mod resolve;
mod unchecked_fallback;
mod variable;

pub use backend::{
    false_without_cuda, is_checked_for_both, is_false_import, names_rocm, needs_cuda_version,
    tells_rocm_apart,
};
pub use classes::is_nn_module;
pub use constants::{folded, integer, string, string_parts};
pub use environment::environment_variable;
pub use guards::{follows_an_exit, is_import_guarded, never_called, never_runs_on_target};
pub use literal::literal_text;
pub use names::{Binding, Value};
pub use resolve::{QualifiedName, Semantics};
pub use variable::Access;
