//! Finds what PyTorch and CUDA C++ source needs changed to run on ROCm: source text in, [`Report`] out.
//!
//! ```
//! use hipward_analyzer::{Applicability, Arch, Options, analyze, fix_all};
//!
//! let source = "import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"max_split_size_mb:64\"\n";
//! let mut options = Options::default();
//! options.target.arch = Arch::Gfx950;
//!
//! let report = analyze(source, &options);
//! assert_eq!(report.findings[0].rule, "cuda-alloc-conf");
//! assert_eq!(report.findings[0].span.start.line, 2);
//!
//! let fixed = fix_all(source, &options, Applicability::Unsafe);
//! assert!(fixed.source.contains("PYTORCH_ALLOC_CONF"));
//! ```
//!
//! An analysis reads only its arguments: no files, no clock, no process-wide state. It returns a report for every text and
//! does not panic. Callers read files and print: the command line (`runner/`) and the browser (`site/`, `analyzer/wasm`).
//!
//! Each language has its own crate. This crate selects among them, adds team rules and the project context of a source,
//! and writes the output formats.

mod analysis;
pub mod api;
mod embedded_cuda;
mod embedded_files;
mod exercise;
mod ignores;
pub mod output;
mod project_context;
mod registry;
mod selection;
mod string_literal;
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
pub use hipward_analyzer_cuda::Libraries;
pub use hipward_analyzer_python::scaffold;
pub use hipward_analyzer_team::{ExerciseError, TeamRule, TeamRuleError, TeamRules};
pub use ignores::{Ignored, add_ignores};
pub use project_context::{FileSource, ProjectContext, included_requirements};
pub use registry::{RULES, rule, rule_page};
pub use selection::{Selection, UnknownRule};
pub use summary::{Plan, PlanFile, PlanGroup, PlanStep, Progress, Survey};
