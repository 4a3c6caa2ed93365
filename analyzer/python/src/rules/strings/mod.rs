//! Checks for rules of other families that start from a word in the source: a library, a path, a variable. The browser's
//! small Python module does not contain them. `site/js/plain-python.js` has the words, so that a source with one of them is
//! analyzed by the other module.

use super::PythonRule;

mod architecture_chain;
mod attn_implementation;
mod capability_name;
mod failing_check;
mod half_macro;
mod home_gate;
mod home_variable;
mod include_option;
mod listed;
mod loaded_library;
mod module;
mod nvidia_backend;
mod nvidia_host;
mod removed_keyword;
mod required_path;
mod tilelang_dtype;
mod tool;

/// The checks.
pub(super) const CHECKS: &[&PythonRule] = &[
    &module::CHECK,
    &loaded_library::CHECK,
    &tool::CHECK,
    &required_path::CHECK,
    &home_gate::CHECK,
    &home_variable::CHECK,
    &failing_check::CHECK,
    &architecture_chain::CHECK,
    &capability_name::CHECK,
    &listed::TEXTS,
    &listed::LIBRARIES,
    &nvidia_host::DEVICES,
    &nvidia_host::VERSIONS,
    &nvidia_host::PATTERNS,
    &nvidia_backend::ENGINE,
    &nvidia_backend::TARGET,
    &tilelang_dtype::CHECK,
    &half_macro::CHECK,
    &include_option::CHECK,
    &removed_keyword::CHECK,
    &attn_implementation::CHECK,
];
