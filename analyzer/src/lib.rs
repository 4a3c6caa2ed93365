//! Source text in, [`Report`] out.
//!
//! Pure: no I/O, no clock, no panic, and parsing never fails. Everything that reads files or
//! prints lives in the command line (`runner/`) or in the browser (`site/`, `analyzer/wasm`).

mod report;

#[cfg(feature = "engine")]
mod analysis;
#[cfg(feature = "engine")]
pub mod api;
#[cfg(feature = "engine")]
mod checker;
#[cfg(feature = "engine")]
mod contract;
#[cfg(feature = "all-languages")]
mod cuda;
#[cfg(feature = "engine")]
mod diff;
#[cfg(feature = "engine")]
mod draft;
#[cfg(feature = "all-languages")]
mod files;
#[cfg(feature = "engine")]
mod fix;
#[cfg(feature = "engine")]
mod language;
#[cfg(feature = "engine")]
mod order;
#[cfg(feature = "engine")]
pub mod output;
#[cfg(feature = "engine")]
mod position;
#[cfg(feature = "engine")]
mod python;
#[cfg(feature = "engine")]
mod rules;
#[cfg(feature = "engine")]
mod selection;
#[cfg(feature = "engine")]
mod semantic;
#[cfg(feature = "engine")]
mod skeleton;
#[cfg(feature = "all-languages")]
mod summary;
#[cfg(feature = "engine")]
mod suppression;
#[cfg(feature = "all-languages")]
mod surroundings;
#[cfg(feature = "engine")]
mod syntax;
#[cfg(feature = "all-languages")]
mod team;
#[cfg(all(feature = "engine", not(feature = "all-languages")))]
#[path = "team/absent.rs"]
mod team;

#[cfg(feature = "engine")]
pub use analysis::{Options, Session, analyze};
#[cfg(feature = "engine")]
pub use diff::{diff, unified_diff};
#[cfg(feature = "engine")]
pub use fix::{Applied, FixedSource, apply_fixes, fix_all};
pub use report::*;
#[cfg(feature = "engine")]
pub use rules::{Family, RULES, RuleMeta, rule};
#[cfg(feature = "engine")]
pub use selection::{Selection, UnknownRule};
#[cfg(feature = "engine")]
pub use skeleton::skeleton;
#[cfg(feature = "all-languages")]
pub use summary::Survey;
#[cfg(feature = "all-languages")]
pub use surroundings::{Files, Surroundings};
#[cfg(feature = "engine")]
pub use syntax::MAX_SOURCE_BYTES;
#[cfg(feature = "all-languages")]
pub use team::{Exercise, ExerciseError};
#[cfg(feature = "engine")]
pub use team::{TeamRule, TeamRuleError, TeamRules};
