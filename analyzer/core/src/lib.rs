//! The parts of the Hipward analyzer that all its languages share: the report, diagnostics and fixes, positions, rule
//! metadata, suppression comments, and JSON.
//!
//! Use the crate `hipward-analyzer`; it re-exports what is public. Items that are hidden from this documentation are
//! shared between the analyzer's crates and change without notice.
//!
//! ```
//! use hipward_analyzer_core::{Arch, Target};
//!
//! let target = Target { arch: Arch::Gfx1100, ..Target::default() };
//! assert_eq!(target.arch.wavefront(), 32);
//! assert_eq!(target.arch.matrix_instructions(), "WMMA");
//! ```

mod arch;
mod diff;
mod fix;
mod language;
mod report;

#[doc(hidden)]
pub mod analysis;
#[doc(hidden)]
pub mod diagnostic;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod position;
pub mod rule;
#[doc(hidden)]
pub mod selection;
#[doc(hidden)]
pub mod sort;
#[doc(hidden)]
pub mod suppression;
#[doc(hidden)]
pub mod words;

pub use diff::{diff, unified_diff};
pub use fix::{Applied, FixedSource, apply_fixes, fix_until_stable};
pub use report::*;
