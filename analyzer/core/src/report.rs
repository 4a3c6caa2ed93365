//! The result of an analysis: the `Report` that the browser, the command line and the tests share.
//!
//! Pure data, without a parser.

use serde::{Deserialize, Serialize};

pub use crate::arch::{Arch, Fp8Format};

/// Version of this format; increased when a field changes its meaning or is removed.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of analyzing one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this format; increased when a field changes its meaning or is removed.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    pub schema: u32,
    /// The language of the source.
    pub language: Language,
    /// The target of the analysis.
    pub target: Target,
    /// Sorted by position, then rule.
    pub findings: Vec<Finding>,
    /// The number of findings suppressed by a `# hipward: ignore[…]` comment.
    pub suppressed: usize,
    /// Notes about the whole source: not Python, incomplete, too large.
    pub notes: Vec<Note>,
    /// The parts of the snippet contract in the source.
    pub contract: Contract,
}

/// A source language, or a kind of file that matters in a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Language {
    /// Python, including `setup.py`.
    Python,
    /// A Jupyter notebook: the Python in its code cells.
    Notebook,
    /// CUDA C++, its headers, and C++ that calls CUDA.
    CudaCpp,
    /// pip's requirements and constraints.
    Requirements,
    /// `pyproject.toml`.
    Pyproject,
    /// A Dockerfile.
    Dockerfile,
    /// `CMakeLists.txt` and `.cmake` files.
    Cmake,
    /// A makefile, or a `.mk` file.
    Makefile,
    /// A shell script, or a file of `NAME=value` lines.
    Shell,
    /// A conda environment, or continuous integration with containers.
    Yaml,
    /// A document in Markdown or reStructuredText: the commands in its code blocks and sentences.
    Document,
}

impl Language {
    /// Every language, the most common ones in pasted code first.
    pub const ALL: [Language; 11] = [
        Language::Python,
        Language::CudaCpp,
        Language::Notebook,
        Language::Requirements,
        Language::Pyproject,
        Language::Dockerfile,
        Language::Cmake,
        Language::Makefile,
        Language::Shell,
        Language::Yaml,
        Language::Document,
    ];

    /// The name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Notebook => "notebook",
            Language::CudaCpp => "cuda-cpp",
            Language::Requirements => "requirements",
            Language::Pyproject => "pyproject",
            Language::Dockerfile => "dockerfile",
            Language::Cmake => "cmake",
            Language::Makefile => "makefile",
            Language::Shell => "shell",
            Language::Yaml => "yaml",
            Language::Document => "document",
        }
    }

    /// The language with this name, or with the name used for code blocks: `cuda`, `toml`.
    pub fn of_name(name: &str) -> Option<Language> {
        let name = match name {
            "cuda" => "cuda-cpp",
            "toml" => "pyproject",
            "make" => "makefile",
            "markdown" | "md" | "rst" => "document",
            name => name,
        };
        Language::ALL
            .into_iter()
            .find(|language| language.name() == name)
    }

    /// The display name.
    pub fn title(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::Notebook => "Notebook",
            Language::CudaCpp => "CUDA C++",
            Language::Requirements => "Requirements",
            Language::Pyproject => "pyproject.toml",
            Language::Dockerfile => "Dockerfile",
            Language::Cmake => "CMake",
            Language::Makefile => "Makefile",
            Language::Shell => "Shell",
            Language::Yaml => "YAML",
            Language::Document => "Document",
        }
    }
}

/// The machine and versions for which the code is analyzed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// GPU architecture.
    pub arch: Arch,
    /// ROCm version.
    pub rocm: Version,
    /// PyTorch version.
    pub torch: Version,
    /// Python version.
    pub python: Version,
}

impl Default for Target {
    /// MI300X with the newest versions for which wheels exist in November 2026 (`2.12.0+rocm7.14.0`).
    fn default() -> Self {
        Target {
            arch: Arch::Gfx942,
            rocm: Version {
                major: 7,
                minor: 14,
            },
            torch: Version {
                major: 2,
                minor: 12,
            },
            python: Version {
                major: 3,
                minor: 12,
            },
        }
    }
}

/// A `major.minor` version, serialized as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    /// Before the dot.
    pub major: u16,
    /// After it.
    pub minor: u16,
}

impl Version {
    /// `Version::new(2, 9)`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Version { major, minor }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A `major.minor` version.",
            "type": "string",
            "pattern": "^[0-9]+\\.[0-9]+$",
        })
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next().and_then(|part| part.parse::<u16>().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(Version { major, minor }),
            _ => Err(format!(
                "`{text}` is not a version; write it as major.minor, such as 2.11"
            )),
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// `HW` and three digits, or the id of a team rule.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[A-Z][A-Z0-9]{2,}$")))]
    pub id: String,
    /// The rule's name, as in suppression comments: `pynvml`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]*$")))]
    pub rule: String,
    /// The severity on the target.
    pub severity: Severity,
    /// One sentence: the effect on the target.
    pub message: String,
    /// The range in the source.
    pub span: Span,
    /// Who has to handle it.
    pub handled_by: HandledBy,
    /// The URL of a team rule's documentation; Hipward's rules have pages.
    pub link: Option<String>,
    /// The fix, if there is one.
    pub fix: Option<Fix>,
}

/// The severity of a finding on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Does not run.
    Error,
    /// Runs, but with wrong results or slowly.
    Warning,
    /// Performance.
    Advice,
    /// For information.
    Info,
}

impl Severity {
    /// As JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "advice",
            Severity::Info => "info",
        }
    }
}

/// Who has to handle a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HandledBy {
    /// The author of the port.
    You,
    /// PyTorch's hipify, at build time.
    Hipify,
    /// The ROCm build of PyTorch, at run time.
    RocmWheel,
}

/// A change that removes a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fix {
    /// Imperative: `Import amdsmi instead of pynvml`.
    pub title: String,
    /// Whether it can be applied without a review.
    pub applicability: Applicability,
    /// Edits, sorted, not overlapping. Empty for a display-only fix.
    pub edits: Vec<Edit>,
}

/// Whether a fix can be applied without a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Applicability {
    /// Behavior does not change.
    Safe,
    /// Valid code, but behavior may change or a comment may be removed.
    Unsafe,
    /// To be done by hand.
    DisplayOnly,
}

/// Replace `span` by `text`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edit {
    /// The range to replace; empty for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// A half-open range of the source, in all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// First position.
    pub start: Position,
    /// One past the last.
    pub end: Position,
}

/// A position in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// UTF-8 bytes from the start.
    pub byte: u32,
    /// UTF-16 code units from the start: JavaScript's and CodeMirror's offset.
    pub utf16: u32,
    /// Line, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line: u32,
    /// Column in Unicode scalar values, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub column: u32,
}

/// A note about the whole source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Stable: `not-python`, `syntax-error`, `too-large`, `binary`, `counterpart`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^[a-z-]+$")))]
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The first line it refers to, if any.
    pub line: Option<u32>,
}

/// The progress of a source towards an exercise's solution: the result of each condition, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// A sentence that is true once every condition is met.
    pub conditions: Vec<JudgedCondition>,
}

impl Judgement {
    /// Whether every condition is met.
    pub fn is_solved(&self) -> bool {
        !self.conditions.is_empty() && self.conditions.iter().all(|condition| condition.met)
    }
}

/// One condition of an exercise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedCondition {
    /// A sentence that is true once the condition is met.
    pub title: String,
    /// Whether the condition is met.
    pub met: bool,
    /// The problem while it is not met, as a sentence.
    pub message: String,
}

/// The parts of the snippet contract in a source (`Model`, `get_inputs`, `get_init_inputs`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contract {
    /// `class Model(nn.Module)`.
    pub model: bool,
    /// `class ModelNew(nn.Module)`.
    pub model_new: bool,
    /// `def get_inputs()`.
    pub get_inputs: bool,
    /// `def get_init_inputs()`.
    pub get_init_inputs: bool,
    /// Other classes that derive from `nn.Module`, in order.
    pub modules: Vec<String>,
}

impl Contract {
    /// True if the source can be benchmarked.
    pub fn is_complete(&self) -> bool {
        self.model && self.get_inputs && self.get_init_inputs
    }
}

/// The summary of a project's reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The number of files.
    pub files: usize,
    /// The number of files with findings.
    pub files_with_findings: usize,
    /// Findings by family, in the order of their ids, without files that have a ported version.
    pub families: Vec<FamilyCount>,
    /// Findings that have to be fixed by hand.
    pub by_you: usize,
    /// Findings that PyTorch's hipify handles at build time.
    pub by_hipify: usize,
    /// Findings that the ROCm build of PyTorch handles.
    pub by_rocm_wheel: usize,
    /// Files with a ported version; their findings are not counted elsewhere.
    pub ported: Vec<PortedFile>,
    /// The estimated time of a port.
    pub effort: Effort,
}

/// Findings of one family by severity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FamilyCount {
    /// Its heading: `Vendor libraries`.
    pub family: String,
    /// Does not run.
    pub error: usize,
    /// Runs, but with wrong results or slowly.
    pub warning: usize,
    /// Performance.
    pub advice: usize,
    /// For information.
    pub info: usize,
}

impl FamilyCount {
    /// The total of all severities.
    pub fn total(&self) -> usize {
        self.error + self.warning + self.advice + self.info
    }
}

/// A file and its ported version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortedFile {
    /// The file for CUDA.
    pub path: String,
    /// The one for ROCm.
    pub port: String,
    /// The number of findings in the file for CUDA.
    pub findings: usize,
}

/// An estimate of a port's effort: a range, and the table it is computed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effort {
    /// The minimum and maximum, in minutes.
    pub minutes: (u32, u32),
    /// The parts of the sum.
    pub items: Vec<EffortItem>,
    /// A description of the figures and their limits.
    pub note: String,
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffortItem {
    /// A description of the work.
    pub kind: String,
    /// The number of findings; 0 for work that no finding represents.
    pub findings: u32,
    /// The minimum and maximum for one finding.
    pub minutes_each: (u32, u32),
    /// The minimum and maximum for all of them.
    pub minutes: (u32, u32),
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// The kind of change.
    pub kind: DiffKind,
    /// The line number before, from 1.
    pub old: Option<u32>,
    /// The line number after.
    pub new: Option<u32>,
    /// The text, without the line break.
    pub text: String,
}

/// The kind of change of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    /// In both.
    Equal,
    /// Only before.
    Removed,
    /// Only after.
    Added,
    /// Represents omitted equal lines.
    Gap,
}

/// Calls a macro with the fields of each struct of the report, in their order in JSON. The encoder of the browser modules,
/// which does without serde because of its size, is generated from this list. A test compares it with serde.
#[doc(hidden)]
#[macro_export]
macro_rules! report_structs {
    ($generate:ident) => {
        $generate! {
            Report { schema, language, target, findings, suppressed, notes, contract }
            Target { arch, rocm, torch, python }
            Finding { id, rule, severity, message, span, handled_by, link, fix }
            Fix { title, applicability, edits }
            Edit { span, text }
            Span { start, end }
            Position { byte, utf16, line, column }
            Note { code, message, line }
            Contract { model, model_new, get_inputs, get_init_inputs, modules }
            DiffLine { kind, old, new, text }
            Judgement { conditions }
            JudgedCondition { title, met, message }
            Summary { files, files_with_findings, families, by_you, by_hipify, by_rocm_wheel, ported, effort }
            FamilyCount { family, error, warning, advice, info }
            PortedFile { path, port, findings }
            Effort { minutes, items, note }
            EffortItem { kind, findings, minutes_each, minutes }
        }
    };
}
