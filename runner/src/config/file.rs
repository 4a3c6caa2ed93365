//! One configuration file: its names, its keys, and its settings.

use std::path::{Path, PathBuf};

use hipward_analyzer::{Arch, Libraries, Version};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ConfigError;
use super::toml_text::{Entry, Section, TomlText, Written};

/// In the order of precedence in a folder.
const NAMES: [&str; 2] = ["hipward.toml", "pyproject.toml"];

/// The settings of a file. Settings that it does not have come from the command line and the defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The file, for error messages.
    pub(super) path: PathBuf,
    pub(super) select: Vec<Written>,
    pub(super) ignore: Vec<Written>,
    /// Patterns of files, and the rules that do not apply to them.
    pub(super) per_file_ignores: Vec<(Gitignore, Vec<Written>)>,
    pub(super) exclude: Option<Gitignore>,
    pub(super) arch: Option<Arch>,
    pub(super) rocm: Option<Version>,
    pub(super) torch: Option<Version>,
    pub(super) python: Option<Version>,
    pub(super) libraries: Option<Libraries>,
    /// A folder of team rules.
    pub(super) rules: Option<PathBuf>,
    pub(super) baseline: Option<PathBuf>,
}

/// Whether a file may affect how others are checked.
pub(crate) fn is_configuration(path: &Path) -> bool {
    // setup.py affects C++ files and first-party modules.
    let names = NAMES.iter().chain([&"setup.py"]);
    names.into_iter().any(|name| path.ends_with(name))
}

/// The settings of `folder` itself.
pub(super) fn in_folder(folder: &Path) -> Result<Option<Settings>, ConfigError> {
    for name in NAMES {
        let path = folder.join(name);
        if path.is_file()
            && let Some(settings) = read(&path)?
        {
            return Ok(Some(settings));
        }
    }
    Ok(None)
}

/// The settings of a file. None for a `pyproject.toml` without a section of Hipward.
pub(super) fn read(path: &Path) -> Result<Option<Settings>, ConfigError> {
    let file = TomlText::read(path)?;
    let is_shared = path.ends_with("pyproject.toml");
    if is_shared && !file.text().contains("hipward") {
        return Ok(None);
    }
    let document = file.parse()?;
    let whole = Section {
        file: &file,
        path: String::new(),
        table: document.get_ref(),
    };
    if !is_shared {
        return settings(&whole).map(Some);
    }
    let inner = |section: &Section<'_>, name: &str| {
        section
            .all()
            .into_iter()
            .position(|entry| entry.key == name)
    };
    let Some(tool) = inner(&whole, "tool") else {
        return Ok(None);
    };
    let tool = whole.all().swap_remove(tool).section()?;
    let Some(ours) = inner(&tool, "hipward") else {
        return Ok(None);
    };
    settings(&tool.all().swap_remove(ours).section()?).map(Some)
}

fn settings(section: &Section<'_>) -> Result<Settings, ConfigError> {
    let folder = section.file.path.parent().unwrap_or(Path::new("."));
    let mut settings = Settings {
        path: section.file.path.clone(),
        ..Settings::default()
    };
    let known = [
        "select",
        "ignore",
        "per-file-ignores",
        "target",
        "exclude",
        "rules",
        "baseline",
    ];
    for entry in section.entries(&known)? {
        match entry.key.as_str() {
            "select" => settings.select = entry.texts()?,
            "ignore" => settings.ignore = entry.texts()?,
            "per-file-ignores" => {
                for entry in entry.section()?.all() {
                    let files = patterns(folder, &entry, &[entry.name()])?;
                    settings.per_file_ignores.push((files, entry.texts()?));
                }
            }
            "exclude" => settings.exclude = Some(patterns(folder, &entry, &entry.texts()?)?),
            "rules" => settings.rules = Some(folder.join(entry.text()?)),
            "baseline" => settings.baseline = Some(folder.join(entry.text()?)),
            _ => target(&entry.section()?, &mut settings)?,
        }
    }
    Ok(settings)
}

fn target(section: &Section<'_>, settings: &mut Settings) -> Result<(), ConfigError> {
    for entry in section.entries(&["arch", "rocm", "torch", "python", "libraries"])? {
        let text = entry.text()?;
        let version = || Version::try_from(text.to_owned()).map_err(|error| entry.error(error));
        match entry.key.as_str() {
            "rocm" => settings.rocm = Some(version()?),
            "torch" => settings.torch = Some(version()?),
            "python" => settings.python = Some(version()?),
            "libraries" => {
                let known = Libraries::ALL.iter().find(|(name, _)| *name == text);
                let known = known.ok_or_else(|| entry.error("it must be `hip` or `roc`"))?;
                settings.libraries = Some(known.1);
            }
            _ => settings.arch = Some(parse_arch(text).map_err(|error| entry.error(error))?),
        }
    }
    Ok(())
}

/// Parses the name of an architecture.
pub(crate) fn parse_arch(text: &str) -> Result<Arch, String> {
    Arch::ALL
        .into_iter()
        .find(|arch| arch.name() == text)
        .ok_or_else(|| format!("it must be one of {}", Arch::ALL.map(Arch::name).join(", ")))
}

/// Parses patterns as in `.gitignore`, relative to the folder of their file.
fn patterns(
    folder: &Path,
    entry: &Entry<'_>,
    patterns: &[Written],
) -> Result<Gitignore, ConfigError> {
    let mut builder = GitignoreBuilder::new(folder);
    // Git treats an unclosed bracket literally, which would hide mistakes.
    builder.allow_unclosed_class(false);
    for pattern in patterns {
        let text = pattern.text.as_str();
        if text.trim().is_empty() || text.starts_with('#') {
            let message = format!(
                "`{text}` matches no file; write a pattern as in .gitignore, such as tests/ or *_pb2.py"
            );
            return Err(pattern.error(message));
        }
        builder.add_line(None, text).map_err(|error| {
            pattern.error(format!(
                "`{text}` is not a pattern such as tests/ or *_pb2.py: {error}; write a backslash before `[`, `{{` or `*` to match it \
                 literally"
            ))
        })?;
    }
    builder
        .build()
        .map_err(|error| entry.error(error.to_string()))
}
