//! The settings of a file: the nearest configuration in its parent folders, overridden by the command line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hipward_analyzer::{
    Arch, Language, Options, ProjectContext, Selection, Target, UnknownRule, Version,
};
use ignore::gitignore::Gitignore;

use super::disk::{self, Disk};
use super::file::{self, Settings};
use super::toml_text::Written;
use super::{ConfigError, LoadedRules, load_rules};
use crate::file_state::FileState;
use crate::rule_pages;

/// Settings of the command line, which override configuration files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) select: Vec<String>,
    pub(crate) ignore: Vec<String>,
    pub(crate) arch: Option<Arch>,
    pub(crate) rocm: Option<Version>,
    pub(crate) torch: Option<Version>,
    pub(crate) python: Option<Version>,
    pub(crate) rules: Option<PathBuf>,
    pub(crate) baseline: Option<PathBuf>,
    /// Ignores the configured baseline, for writing a new one.
    pub(crate) without_baseline: bool,
    /// Which configuration to use.
    pub(crate) source: Source,
}

/// Where the configuration comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum Source {
    /// The nearest file in the parent folders of each checked file.
    #[default]
    Nearest,
    /// This file for all.
    File(PathBuf),
    /// No file.
    None,
}

/// The settings of the files below one configuration file, or of those without one.
#[derive(Debug)]
pub(crate) struct Project {
    options: Options,
    exclude: Option<Gitignore>,
    per_file_ignores: Vec<(Gitignore, Vec<Written>)>,
    /// The folder of the team's rules.
    rules: Option<PathBuf>,
    /// The rules in that folder.
    pub(crate) team: LoadedRules,
    /// The baseline of known findings.
    pub(crate) baseline: Option<PathBuf>,
    project_context: ProjectContext<Disk>,
}

/// Why a file cannot be checked.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ProjectError {
    /// A mistake in a file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The command line names an unknown rule.
    #[error("{0}")]
    Rule(String),
}

/// The cache of projects, by folder.
#[derive(Debug)]
pub(crate) struct Projects {
    overrides: Overrides,
    folders: Mutex<HashMap<PathBuf, Result<Arc<Project>, ProjectError>>>,
    /// Projects by configuration file, shared between folders.
    files: Mutex<HashMap<PathBuf, Result<Arc<Project>, ProjectError>>>,
}

impl Projects {
    pub(crate) fn new(overrides: Overrides) -> Projects {
        Projects {
            overrides,
            folders: Mutex::default(),
            files: Mutex::default(),
        }
    }

    /// Clears the cache, because a file has changed.
    pub(crate) fn reload(&self) {
        lock(&self.folders).clear();
        lock(&self.files).clear();
    }

    /// The folders of team rules that were read.
    pub(crate) fn rule_folders(&self) -> Vec<PathBuf> {
        let projects = lock(&self.files);
        let folders = projects.values().flatten();
        let mut folders: Vec<_> = folders
            .filter_map(|project| project.rules.clone())
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }

    /// The files and folders that were read for the options of files, below `/`, with their states before that.
    pub(crate) fn reads(&self) -> HashMap<String, FileState> {
        let projects = lock(&self.files);
        let reads = projects.values().flatten();
        reads
            .flat_map(|project| project.project_context.files().reads())
            .collect()
    }

    /// The project of a file.
    pub(crate) fn of_file(&self, file: &Path) -> Result<Arc<Project>, ProjectError> {
        let file = absolute(file);
        self.of_folder(file.parent().unwrap_or(Path::new("/")))
    }

    /// The project of a folder, whose path is absolute.
    pub(crate) fn of_folder(&self, folder: &Path) -> Result<Arc<Project>, ProjectError> {
        if let Some(known) = lock(&self.folders).get(folder) {
            return known.clone();
        }
        let project = match &self.overrides.source {
            Source::None => self.project(Settings::default()),
            Source::File(path) => match file::read(&absolute(path)) {
                Ok(settings) => self.project(settings.unwrap_or_default()),
                Err(error) => Err(error.into()),
            },
            Source::Nearest => match file::in_folder(folder) {
                Err(error) => Err(error.into()),
                Ok(Some(settings)) => self.project(settings),
                Ok(None) => match folder.parent() {
                    Some(parent) => self.of_folder(parent),
                    None => self.project(Settings::default()),
                },
            },
        };
        lock(&self.folders).insert(folder.to_owned(), project.clone());
        project
    }

    /// The project of a configuration file's settings. An empty path means no file.
    fn project(&self, settings: Settings) -> Result<Arc<Project>, ProjectError> {
        if let Some(known) = lock(&self.files).get(&settings.path) {
            return known.clone();
        }
        let path = settings.path.clone();
        let project = self.settle(settings).map(Arc::new);
        lock(&self.files).insert(path, project.clone());
        project
    }

    fn settle(&self, settings: Settings) -> Result<Project, ProjectError> {
        let over = &self.overrides;
        let rules = over.rules.as_ref().or(settings.rules.as_ref()).cloned();
        let team = match &rules {
            Some(folder) => load_rules(folder)?,
            None => LoadedRules::default(),
        };
        let wrong = |error: &UnknownRule, written: &[Written]| -> ProjectError {
            let message = rule_pages::unknown(error, &team.rules);
            match written
                .iter()
                .find(|name| name.text.trim() == error.entered)
            {
                Some(name) => name.error(message).into(),
                None => ProjectError::Rule(message),
            }
        };
        let (select, select_written) = chosen(&over.select, &settings.select);
        let (ignore, ignore_written) = chosen(&over.ignore, &settings.ignore);
        let selection = Selection::with_team(&select, &[], &team.rules)
            .map_err(|error| wrong(&error, select_written))?
            .without(&ignore, &team.rules)
            .map_err(|error| wrong(&error, ignore_written))?;
        for (_, rules) in &settings.per_file_ignores {
            Selection::default()
                .without(rules, &team.rules)
                .map_err(|error| wrong(&error, rules))?;
        }
        let default = Target::default();
        let target = Target {
            arch: over.arch.or(settings.arch).unwrap_or(default.arch),
            rocm: over.rocm.or(settings.rocm).unwrap_or(default.rocm),
            torch: over.torch.or(settings.torch).unwrap_or(default.torch),
            python: over.python.or(settings.python).unwrap_or(default.python),
        };
        Ok(Project {
            options: {
                let mut options = Options::default();
                options.target = target;
                options.libraries = settings.libraries.unwrap_or_default();
                options.rules = selection;
                options.team = team.rules.clone();
                options
            },
            exclude: settings.exclude,
            per_file_ignores: settings.per_file_ignores,
            rules,
            team,
            baseline: match over.without_baseline {
                true => None,
                false => over.baseline.clone().or(settings.baseline),
            },
            project_context: ProjectContext::default(),
        })
    }
}

/// The rules of the command line, or else those of the file with their positions.
fn chosen<'n>(ours: &'n [String], theirs: &'n [Written]) -> (Vec<&'n str>, &'n [Written]) {
    if ours.is_empty() {
        (theirs.iter().map(AsRef::as_ref).collect(), theirs)
    } else {
        (ours.iter().map(AsRef::as_ref).collect(), &[])
    }
}

impl Project {
    /// The options for analyzing a file. Without `language`, its name determines the language.
    pub(crate) fn options(&self, file: &Path, language: Option<Language>) -> Options {
        self.with_context(file, self.settings(file, language))
    }

    /// The options for analyzing a file, completed from the files around it.
    pub(crate) fn with_context(&self, file: &Path, mut settings: Options) -> Options {
        disk::fill_options(&self.project_context, &absolute(file), &mut settings);
        settings
    }

    /// The options for analyzing a file that do not depend on the files around it.
    pub(crate) fn settings(&self, file: &Path, language: Option<Language>) -> Options {
        let file = absolute(file);
        let mut options = self.options.clone();
        options.language = language.or_else(|| Language::of_path(&file.to_string_lossy()));
        for (files, rules) in &self.per_file_ignores {
            if matches(files, &file, false)
                && let Ok(fewer) = options.rules.clone().without(rules, &self.team.rules)
            {
                options.rules = fewer;
            }
        }
        options
    }

    /// Whether the configuration excludes a file or folder.
    pub(crate) fn excludes(&self, path: &Path, is_folder: bool) -> bool {
        let path = absolute(path);
        self.exclude
            .as_ref()
            .is_some_and(|patterns| matches(patterns, &path, is_folder))
    }
}

/// Whether a pattern matches a path, or one of its parents, below the patterns' folder.
fn matches(patterns: &Gitignore, path: &Path, is_folder: bool) -> bool {
    path.starts_with(patterns.path())
        && patterns
            .matched_path_or_any_parents(path, is_folder)
            .is_ignore()
}

/// An absolute path, for matching patterns.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Ignores poisoning: the data stays consistent when a thread panics.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
