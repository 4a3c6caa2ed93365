//! What an analysis says: the `Report` that the browser, the command line and the tests share.
//!
//! Pure data. Available without the `engine` feature, so that the site's islands can read a
//! report without carrying a parser.

use serde::{Deserialize, Serialize};

/// Version of this shape; raised when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything an analysis of one source says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// How the source was read.
    pub language: Language,
    /// What it was judged for.
    pub target: Target,
    /// Sorted by position, then rule.
    pub findings: Vec<Finding>,
    /// Findings that a `# hipward: ignore[…]` comment silenced.
    pub suppressed: usize,
    /// Things to say about the source as a whole: not Python, half a file, too large.
    pub notes: Vec<Note>,
    /// Which parts of the snippet contract are there.
    pub contract: Contract,
}

/// A source language, or a kind of file that a port touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Python, `setup.py` too.
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
    /// A shell script, or a file of `NAME=value` lines.
    Shell,
    /// A conda environment, or continuous integration with containers.
    Yaml,
}

impl Language {
    /// Every language, the ones that most pastes are in first.
    pub const ALL: [Language; 9] = [
        Language::Python,
        Language::CudaCpp,
        Language::Notebook,
        Language::Requirements,
        Language::Pyproject,
        Language::Dockerfile,
        Language::Cmake,
        Language::Shell,
        Language::Yaml,
    ];

    /// As JSON and the command line spell it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Notebook => "notebook",
            Language::CudaCpp => "cuda-cpp",
            Language::Requirements => "requirements",
            Language::Pyproject => "pyproject",
            Language::Dockerfile => "dockerfile",
            Language::Cmake => "cmake",
            Language::Shell => "shell",
            Language::Yaml => "yaml",
        }
    }

    /// The language that is spelled so, or as code blocks have it: `cuda`, `toml`.
    pub fn of_name(name: &str) -> Option<Language> {
        let name = match name {
            "cuda" => "cuda-cpp",
            "toml" => "pyproject",
            name => name,
        };
        Language::ALL
            .into_iter()
            .find(|language| language.name() == name)
    }

    /// For a list to pick from.
    pub fn title(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::Notebook => "Notebook",
            Language::CudaCpp => "CUDA C++",
            Language::Requirements => "Requirements",
            Language::Pyproject => "pyproject.toml",
            Language::Dockerfile => "Dockerfile",
            Language::Cmake => "CMake",
            Language::Shell => "Shell",
            Language::Yaml => "YAML",
        }
    }
}

/// The machine and versions that the code is meant for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// MI300X with the newest pair that wheels are known for in November 2026 (`2.12.0+rocm7.14.0`).
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

/// AMD Instinct architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// MI210, MI250, MI250X.
    Gfx90a,
    /// MI300A, MI300X, MI325X.
    Gfx942,
    /// MI350X, MI355X.
    Gfx950,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Arch; 3] = [Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950];

    /// `gfx942`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Gfx90a => "gfx90a",
            Arch::Gfx942 => "gfx942",
            Arch::Gfx950 => "gfx950",
        }
    }

    /// The products that carry it.
    pub fn products(self) -> &'static str {
        match self {
            Arch::Gfx90a => "MI210, MI250X",
            Arch::Gfx942 => "MI300X, MI325X",
            Arch::Gfx950 => "MI350X, MI355X",
        }
    }
}

/// A `major.minor` version; written as that string.
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

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `HW101`.
    pub id: String,
    /// The rule's name, which reads after "allow": `pynvml`.
    pub rule: String,
    /// How bad it is on the target.
    pub severity: Severity,
    /// One sentence: what happens on the target.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Who deals with it.
    pub handled_by: HandledBy,
    /// Where a team's own rule is explained; Hipward's rules have their pages.
    pub link: Option<String>,
    /// What to do about it, if the analyzer can say.
    pub fix: Option<Fix>,
}

/// How bad a finding is on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Will not run.
    Error,
    /// Runs, but wrong or slow.
    Warning,
    /// Performance.
    Advice,
    /// Good to know.
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

/// Who deals with a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandledBy {
    /// The person who ports.
    You,
    /// PyTorch's hipify, at build time.
    Hipify,
    /// The ROCm build of PyTorch, at run time.
    RocmWheel,
}

/// A change that removes a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fix {
    /// Imperative: `Import amdsmi instead of pynvml`.
    pub title: String,
    /// Whether it may be applied without a person looking.
    pub applicability: Applicability,
    /// Edits, sorted, not overlapping. Empty for a fix that only describes.
    pub edits: Vec<Edit>,
}

/// Whether a fix may be applied without a person looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Applicability {
    /// Behaviour is kept.
    Safe,
    /// Valid code, but behaviour may change or a comment may go.
    Unsafe,
    /// For a person to carry out.
    DisplayOnly,
}

/// Replace `span` by `text`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// What to replace; empty for an insertion.
    pub span: Span,
    /// With what.
    pub text: String,
}

/// A half-open range of the source, in the units of every consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First position.
    pub start: Position,
    /// One past the last.
    pub end: Position,
}

/// A position in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// UTF-8 bytes from the start.
    pub byte: u32,
    /// UTF-16 code units from the start: JavaScript's and CodeMirror's offset.
    pub utf16: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column in Unicode scalar values, from 1.
    pub column: u32,
}

/// Something to say about the source as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Stable: `not-python`, `syntax-error`, `too-large`, `binary`, `counterpart`.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// First line it speaks of, if any.
    pub line: Option<u32>,
}

/// How far a source is on the way to an exercise's solution: each condition, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What has to be true.
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
pub struct JudgedCondition {
    /// What has to be true, in a sentence.
    pub title: String,
    /// Whether it is.
    pub met: bool,
    /// What is wrong while it is not, in a sentence.
    pub message: String,
}

/// Which parts of the snippet contract a source has (`Model`, `get_inputs`, `get_init_inputs`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// True when a benchmark can start from this source.
    pub fn is_complete(&self) -> bool {
        self.model && self.get_inputs && self.get_init_inputs
    }
}

/// What the reports of a project come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Files that were read.
    pub files: usize,
    /// Those with a finding.
    pub files_with_findings: usize,
    /// Findings by family, in the order of their ids; files with a port beside them are left out.
    pub families: Vec<FamilyCount>,
    /// Findings that need a person.
    pub by_you: usize,
    /// Findings that PyTorch's hipify deals with at build time.
    pub by_hipify: usize,
    /// Findings that the ROCm build of PyTorch deals with.
    pub by_rocm_wheel: usize,
    /// Files whose port stands beside them; their findings count nowhere else.
    pub ported: Vec<PortedFile>,
    /// How long a port may take.
    pub effort: Effort,
}

/// Findings of one family by severity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyCount {
    /// Its heading: `Vendor libraries`.
    pub family: String,
    /// Will not run.
    pub error: usize,
    /// Runs, but wrong or slow.
    pub warning: usize,
    /// Performance.
    pub advice: usize,
    /// Good to know.
    pub info: usize,
}

impl FamilyCount {
    /// Of every severity.
    pub fn total(&self) -> usize {
        self.error + self.warning + self.advice + self.info
    }
}

/// A file and the file that is its port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortedFile {
    /// The file for CUDA.
    pub path: String,
    /// The one for ROCm.
    pub port: String,
    /// What was found in the first.
    pub findings: usize,
}

/// A reckoning of a port's effort: a range, and the table it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// From and to, in minutes.
    pub minutes: (u32, u32),
    /// What adds up to it.
    pub items: Vec<EffortItem>,
    /// What the figures are, and what they are not.
    pub note: String,
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffortItem {
    /// In words.
    pub kind: String,
    /// How many findings there are of it; 0 for work that no finding stands for.
    pub findings: u32,
    /// What one takes, from and to.
    pub minutes_each: (u32, u32),
    /// What all of them take.
    pub minutes: (u32, u32),
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// What became of it.
    pub kind: DiffKind,
    /// Its number before, from 1.
    pub old: Option<u32>,
    /// Its number after.
    pub new: Option<u32>,
    /// Its text, without the end of the line.
    pub text: String,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    /// In both.
    Equal,
    /// Only before.
    Removed,
    /// Only after.
    Added,
    /// Stands for equal lines that are left out.
    Gap,
}
