//! The Python part of the Hipward analyzer: syntax tree, semantic model, the rules for Python and Triton, and the snippet
//! contract.
//!
//! Use the crate `hipward-analyzer`; it re-exports what is public. Items that are hidden from this documentation are
//! shared between the analyzer's crates and change without notice.
//!
//! ```
//! use hipward_analyzer_python::rules::METADATA;
//!
//! assert!(METADATA.iter().any(|rule| rule.name == "pynvml"));
//! ```

#[doc(hidden)]
pub mod checker;
mod read;
#[doc(hidden)]
pub mod rules;
mod scaffold;
#[doc(hidden)]
pub mod semantic;
mod snippet_contract;
#[doc(hidden)]
pub mod syntax;

#[doc(hidden)]
pub use read::{Extra, PythonExtension, PythonOptions, read};
pub use scaffold::scaffold;
