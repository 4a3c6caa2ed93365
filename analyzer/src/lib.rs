//! Source text in, [`Report`] out.
//!
//! Pure: no I/O, no clock, no panic, and parsing never fails. Everything that reads files or
//! prints lives in the command line (`runner/`) or in the browser (`site/`, `analyzer/wasm`).
//!
//! The languages are crates of their own; this one selects among them, adds a team's rules and what the files around a
//! source say about it, and writes the output formats.

mod analysis;
pub mod api;
mod embedded_cuda;
mod exercise;
pub mod output;
mod project_context;
mod registry;
mod selection;
mod summary;

pub use analysis::{Options, Session, analyze, fix_all};
pub use exercise::Exercise;
pub use hipward_analyzer_core::analysis::MAX_SOURCE_BYTES;
pub use hipward_analyzer_core::rule::{Family, RuleMeta};
pub use hipward_analyzer_core::{
    Applicability, Applied, Arch, Contract, DiffKind, DiffLine, Edit, Effort, EffortItem,
    FamilyCount, Finding, Fix, FixedSource, HandledBy, JudgedCondition, Judgement, Language, Note,
    PortedFile, Position, Report, SCHEMA_VERSION, Severity, Span, Summary, Target, Version,
    apply_fixes, diff, unified_diff,
};
pub use hipward_analyzer_python::skeleton;
pub use hipward_analyzer_team::{ExerciseError, TeamRule, TeamRuleError, TeamRules};
pub use project_context::{FileSource, ProjectContext};
pub use registry::{RULES, rule, rule_page};
pub use selection::{Selection, UnknownRule};
pub use summary::Survey;
