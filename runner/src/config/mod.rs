//! Configuration of checks: `hipward.toml`, `[tool.hipward]`, a team's folder of rules, and baselines.
//!
//! Used by every command that checks. Errors name the file, the line, the key and what
//! is allowed.

mod baseline;
mod disk;
mod file;
mod project;
mod rules;
mod toml_text;

pub(crate) use baseline::{Baselines, Entry, NewBaseline};
pub(crate) use file::{is_configuration, parse_arch};
pub(crate) use project::{Overrides, Project, ProjectError, Projects, Source};
pub(crate) use rules::{LoadedRules, load_rules};

use std::fmt;
use std::path::{Path, PathBuf};

/// A mistake in a file that a user wrote.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) struct ConfigError {
    /// The file.
    pub(crate) path: PathBuf,
    /// The line, from 1. None for the file as a whole.
    pub(crate) line: Option<usize>,
    /// The key's path: `target.arch`. Empty for the file as a whole.
    pub(crate) key: String,
    /// What is wrong, and what is allowed.
    pub(crate) message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown(&self.path))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A path relative to the working directory, as in reports.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).unwrap_or(path);
    path.display().to_string()
}
