//! The files around the code that a port changes: requirements, containers, build and shell scripts, notebooks.
//!
//! A small parser for each kind extracts [`facts`]; the rules on those are in `rules/build/`, and in the Python rules
//! that check the same fact. This module contains no rules.
//!
//! Use the crate `hipward-analyzer`. Items that are hidden from this documentation change without notice.
//!
//! ```
//! let calls = hipward_analyzer_files::cmake_calls("project(acme LANGUAGES CUDA)");
//! assert_eq!(calls.len(), 1);
//! ```

#[doc(hidden)]
pub mod checker;
mod cmake;
mod dockerfile;
mod document;
mod embedded_python;
#[doc(hidden)]
pub mod facts;
mod included;
mod json;
mod makefile;
mod notebook;
mod packages;
mod pipfile_lock;
mod pixi;
mod release_limits;
mod requirements;
#[doc(hidden)]
pub mod rules;
mod setup_script;
mod shell;
#[doc(hidden)]
pub mod text;
mod toml;
mod yaml;

use hipward_analyzer_core::Language;
use hipward_analyzer_core::Target;
use hipward_analyzer_core::analysis::ParsedFile;
use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_core::sort;
use hipward_analyzer_python::PythonOptions;

use checker::FileChecker;
use facts::Facts;
use text::Text;

pub use included::{Included, included_requirements};
pub use release_limits::release_limits;
pub use setup_script::SetupScript;

/// How to analyze build files, scripts and notebooks.
#[derive(Clone, Copy)]
pub struct FileOptions<'a> {
    /// The machine and versions that the code is meant for.
    pub target: &'a Target,
    /// The rules that run.
    pub filter: &'a RuleFilter,
    /// How to analyze the Python of a notebook.
    pub python: PythonOptions<'a>,
    /// Whether Python modules beside the file import PyTorch.
    pub imports_torch: bool,
    /// More checks of a file: a team's rules.
    pub extension: &'a dyn Fn(&Facts<'_>) -> Vec<RawDiagnostic>,
}

/// Analyzes `source` as a file of that language.
pub fn read(source: &str, language: Language, options: &FileOptions<'_>) -> ParsedFile {
    if language == Language::Notebook {
        return notebook::read(source, options);
    }
    let mut facts = facts(source, language);
    let comments = std::mem::take(&mut facts.comments);
    let mut comments = sort::by_key(comments, |comment| [comment.start, 0, 0]);
    comments.dedup();
    let facts = Facts {
        comments: comments.clone(),
        ..facts
    };
    let mut diagnostics = FileChecker::run(source, language, facts, options);
    if language == Language::Document {
        document::soften(&mut diagnostics);
    }
    ParsedFile {
        code_start: code_start(source, &comments),
        diagnostics,
        comments,
        ..ParsedFile::default()
    }
}

/// The calls in a CMake file.
pub fn cmake_calls(source: &str) -> Vec<facts::CmakeCall<'_>> {
    facts(source, Language::Cmake).cmake_calls
}

/// The commands of a shell script.
pub fn commands(source: &str) -> Vec<facts::Command<'_>> {
    facts(source, Language::Shell).commands
}

fn facts(source: &str, language: Language) -> Facts<'_> {
    let mut facts = Facts::default();
    let text = Text::whole(source);
    match language {
        Language::Requirements => requirements::read(text, &mut facts),
        // `Pipfile.lock`
        Language::Pyproject if source.trim_start().starts_with('{') => {
            pipfile_lock::read(text, &mut facts)
        }
        Language::Pyproject if is_setup_cfg(source) => toml::read_setup_cfg(text, &mut facts),
        Language::Pyproject => toml::read(text, &mut facts),
        Language::Dockerfile if source.lines().any(|line| line.starts_with("Bootstrap:")) => {
            dockerfile::read_definition(text, &mut facts)
        }
        Language::Dockerfile => dockerfile::read(text, &mut facts),
        Language::Cmake => cmake::read(text, &mut facts),
        Language::Makefile => makefile::read(text, &mut facts),
        Language::Shell => shell::read(text, &mut facts),
        Language::Yaml => yaml::read(text, &mut facts),
        Language::Document => document::read(text, &mut facts),
        _ => {}
    }
    packages::read_clones(&mut facts);
    facts
}

/// `setup.cfg` has sections that do not exist in `pyproject.toml`.
fn is_setup_cfg(source: &str) -> bool {
    // uv's lock file has `[options]` too.
    !source.contains("\n[[")
        && source
            .lines()
            .any(|line| matches!(line.trim_end(), "[options]" | "[options.extras_require]"))
}

/// The start of the first line that is neither blank nor a comment.
fn code_start(source: &str, comments: &[std::ops::Range<usize>]) -> usize {
    let mut at = 0;
    for comment in comments {
        let before = source.get(at..comment.start).unwrap_or_default();
        if !before.trim().is_empty() {
            break;
        }
        at = comment.end;
    }
    let rest = source.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start().len()
}
