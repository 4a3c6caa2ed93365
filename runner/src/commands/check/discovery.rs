//! Finds the files of the paths on the command line, and the project of each.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hipward_analyzer::{Language, included_requirements};
use ignore::{DirEntry, WalkBuilder};

use super::git_index;
use crate::config::{Project, Projects};
use crate::source_file;
use crate::text_encoding::decode;

/// `-` on the command line: standard input.
pub(super) const STDIN: &str = "-";

/// Hidden folders with files that the analyzer supports: continuous integration and containers.
const READ_HIDDEN: [&str; 8] = [
    ".github",
    ".circleci",
    ".devcontainer",
    ".buildkite",
    ".gitlab",
    ".ci",
    ".docker",
    ".runpod",
];

/// A file to check.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The path as it was passed or found. [`STDIN`] for standard input.
    pub(super) path: PathBuf,
    /// The path, or the name that was passed for standard input.
    pub(super) name: PathBuf,
    /// Whether the file itself was passed on the command line, not only its folder.
    pub(super) is_given: bool,
    /// The language, if the name does not tell it.
    pub(super) language: Option<Language>,
    pub(super) project: Arc<Project>,
}

impl Found {
    pub(super) fn is_stdin(&self) -> bool {
        self.path.as_os_str() == STDIN
    }

    /// The path in reports and patches: without a leading `./`, with `/` as separator.
    pub(super) fn shown(&self) -> String {
        let path = self.name.strip_prefix("./").unwrap_or(&self.name);
        path.to_string_lossy()
            .replace(std::path::MAIN_SEPARATOR, "/")
    }
}

/// A message about a path.
pub(super) enum Message {
    /// The path cannot be checked.
    Error(String),
    /// The path is skipped.
    Note(String),
}

impl Message {
    /// Prints the message. Returns whether it is an error.
    pub(super) fn print(&self) -> bool {
        let (Message::Error(text) | Message::Note(text)) = self;
        eprintln!("hipward: {text}");
        matches!(self, Message::Error(_))
    }
}

/// Whether the analyzer supports a file, by its name.
fn understands(path: &Path) -> bool {
    Language::of_path(&path.to_string_lossy()).is_some()
}

/// The files of `paths`, in a stable order: passed files, and of passed folders the files that the analyzer
/// supports. `report` gets errors, and notes on what is skipped.
pub(super) fn discover(
    paths: &[PathBuf],
    force_exclude: bool,
    stdin_name: Option<&Path>,
    projects: &Projects,
    report: &mut dyn FnMut(Message),
) -> Vec<Found> {
    let mut files = Vec::new();
    let mut reported = HashSet::new();
    // Many files share one project, whose errors are reported once.
    let mut report_error = |message: String| {
        if reported.insert(message.clone()) {
            report(Message::Error(message));
        }
    };
    let mut skipped = Vec::new();
    let found = |path: &Path, name: &Path, is_given: bool, report_error: &mut dyn FnMut(String)| {
        let project = match projects.of_file(name) {
            Ok(project) => project,
            Err(error) => {
                report_error(error.to_string());
                return None;
            }
        };
        let is_checked = (is_given && !force_exclude) || !project.excludes(name, false);
        is_checked.then(|| Found {
            path: path.to_owned(),
            name: name.to_owned(),
            is_given,
            language: None,
            project,
        })
    };
    for path in paths {
        if path.as_os_str() == STDIN {
            let name = stdin_name.unwrap_or(path);
            files.extend(found(path, name, true, &mut report_error));
            continue;
        }
        // A pipe (`<(git show …)`) is read like a file.
        match path.metadata() {
            Ok(what) if what.is_dir() => {}
            Ok(_) => {
                files.extend(found(path, path, true, &mut report_error));
                continue;
            }
            Err(error) => {
                report_error(format!("{}: {}", path.display(), plain(&error)));
                continue;
            }
        }
        // An unpacked archive of a repository is read like its clone, but without the ignore files above it.
        let is_repository = std::path::absolute(path)
            .is_ok_and(|path| path.ancestors().any(|folder| folder.join(".git").exists()));
        let walk = WalkBuilder::new(path)
            .hidden(false)
            .require_git(is_repository)
            .parents(is_repository)
            .filter_entry(is_walked)
            .sort_by_file_path(Path::cmp)
            .build();
        let mut excluded: Option<PathBuf> = None;
        let first = files.len();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    report_error(of_walk(&error));
                    continue;
                }
            };
            let path = entry.path();
            // Everything below an excluded folder follows immediately.
            if excluded
                .as_ref()
                .is_some_and(|folder| path.starts_with(folder))
            {
                continue;
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if is_file && understands(path) {
                files.extend(found(path, path, false, &mut report_error));
            } else if !is_file {
                let project = projects.of_file(path);
                if project.is_ok_and(|project| project.excludes(path, true)) {
                    excluded = Some(path.to_owned());
                } else if let Some(reason) = not_walked(&entry) {
                    let shown = path.strip_prefix("./").unwrap_or(path).display();
                    skipped.push(format!("{shown}: {reason}; skipped"));
                }
            }
        }
        // `.gitignore` does not apply to a file that git tracks.
        if is_repository {
            let walked: HashSet<PathBuf> = files[first..]
                .iter()
                .map(|found| found.path.clone())
                .collect();
            let is_left_out = |file: &Path| {
                let below = file.strip_prefix(path).unwrap_or(file);
                let folders = below
                    .ancestors()
                    .skip(1)
                    .filter(|folder| *folder != Path::new(""));
                folders.into_iter().any(|folder| {
                    let folder = path.join(folder);
                    is_foreign(&folder)
                        || projects
                            .of_file(&folder)
                            .is_ok_and(|project| project.excludes(&folder, true))
                })
            };
            for file in git_index::tracked(path) {
                if understands(&file)
                    && !walked.contains(&file)
                    && file.symlink_metadata().is_ok_and(|what| what.is_file())
                    && !is_left_out(&file)
                {
                    files.extend(found(&file, &file, false, &mut report_error));
                }
            }
        }
        for path in included(path, &files[first..]) {
            let included = found(&path, &path, false, &mut report_error);
            files.extend(included.map(|file| Found {
                language: Some(Language::Requirements),
                ..file
            }));
        }
        files[first..].sort_by(|a, b| a.path.cmp(&b.path));
    }
    for message in skipped {
        report(Message::Note(message));
    }
    let mut seen = HashSet::new();
    files.retain(|found| seen.insert(found.path.clone()));
    files
}

/// Why an entry that is neither a file nor a folder is skipped, where that may surprise. Links to files and to other folders
/// are skipped without a message: what they lead to is checked where it is.
fn not_walked(entry: &DirEntry) -> Option<&'static str> {
    let path = entry.path();
    if understands(path) {
        return source_file::special(path);
    }
    let is_round = entry.path_is_symlink()
        && std::fs::canonicalize(path)
            .ok()
            .zip(
                path.parent()
                    .and_then(|parent| std::fs::canonicalize(parent).ok()),
            )
            .is_some_and(|(target, parent)| parent.starts_with(target));
    is_round.then_some("a link to a folder that contains it")
}

/// The requirements files below `root` whose names do not tell what they are, but that one of `files` includes.
fn included(root: &Path, files: &[Found]) -> Vec<PathBuf> {
    let paths = files.iter().filter_map(|found| {
        let path = found.path.strip_prefix(root).ok()?.to_str()?;
        Some(path.replace(std::path::MAIN_SEPARATOR, "/"))
    });
    // A path out of the folder is no file of it.
    let place = |path: &str| {
        let is_inside = !path.starts_with('/') && path.split('/').next() != Some("..");
        is_inside.then(|| root.join(path))
    };
    let text = |path: &str| {
        let bytes = source_file::read_regular(&place(path)?).ok()?;
        Some(Cow::Owned(decode(bytes, false).text))
    };
    let is_file = |path: &str| place(path).is_some_and(|path| path.is_file());
    included_requirements(paths, &text, &is_file)
        .into_iter()
        .map(|path| root.join(path))
        .collect()
}

/// The message of an error while walking a folder, in the form of the message for an unreadable file.
fn of_walk(error: &ignore::Error) -> String {
    let mut inner = error;
    loop {
        inner = match inner {
            ignore::Error::WithPath { path, err } => {
                return match err.io_error() {
                    Some(error) => format!("{}: {}", path.display(), plain(error)),
                    None => format!("{}: {err}", path.display()),
                };
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => err,
            _ => return error.to_string(),
        };
    }
}

/// An error of the operating system without its number.
pub(super) fn plain(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "it cannot be read: permission denied".to_owned(),
        // "Too many levels of symbolic links (os error 40)"
        _ => {
            let message = error.to_string();
            let end = message.find(" (os error ").unwrap_or(message.len());
            message[..end].to_owned()
        }
    }
}

/// False for folders without code of the project: hidden folders, virtual environments, packages and caches.
fn is_walked(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    if !is_folder || entry.depth() == 0 {
        return true;
    }
    !is_foreign(entry.path())
}

fn is_foreign(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    matches!(name.as_ref(), "node_modules" | "__pycache__")
        || name.starts_with('.') && !READ_HIDDEN.contains(&name.as_ref())
        || folder.join("pyvenv.cfg").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, Source};
    use std::fs;

    fn found(folder: &Path, paths: &[PathBuf], source: Source) -> (Vec<String>, Vec<String>) {
        let projects = Projects::new(Overrides {
            source,
            ..Overrides::default()
        });
        let mut complaints = Vec::new();
        let files = discover(paths, false, None, &projects, &mut |message| {
            if let Message::Error(message) = message {
                complaints.push(message);
            }
        });
        let names = files
            .iter()
            .map(|found| {
                let below = found.path.strip_prefix(folder).unwrap_or(&found.path);
                below.to_string_lossy().into_owned()
            })
            .collect();
        (names, complaints)
    }

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        folder
    }

    #[test]
    fn folder_yields_supported_files_and_file_yields_itself() {
        let folder = folder(&[
            "b.py",
            "a.py",
            "sub/c.py",
            "notes.txt",
            "script",
            ".hidden/d.py",
            "env/pyvenv.cfg",
            "env/lib/e.py",
            "node_modules/f.py",
        ]);
        let path = |name: &str| folder.path().join(name);
        let paths = [folder.path().to_owned(), path("script"), path("a.py")];
        let (names, complaints) = found(folder.path(), &paths, Source::None);
        assert_eq!(names, ["a.py", "b.py", "sub/c.py", "script"]);
        assert_eq!(complaints, [""; 0]);
        let (names, complaints) = found(folder.path(), &[path("missing")], Source::None);
        assert_eq!((names.len(), complaints.len()), (0, 1));
    }

    #[test]
    fn ignored_files_are_skipped_in_clones_and_archives() {
        let folder = folder(&[
            "above.py",
            "repo/a.py",
            "repo/gen/b.py",
            "repo/sub/c_pb2.py",
            "repo/sub/d.py",
        ]);
        let path = |name: &str| folder.path().join(name);
        fs::write(path(".gitignore"), "*.py\n").expect("a file");
        fs::write(path("repo/.gitignore"), "/gen/\n").expect("a file");
        fs::write(path("repo/sub/.gitignore"), "*_pb2.py\n").expect("a file");
        for _ in 0..2 {
            let (names, _) = found(folder.path(), &[path("repo")], Source::None);
            assert_eq!(names, ["repo/a.py", "repo/sub/d.py"]);
            fs::create_dir_all(path("repo/.git")).expect("a folder");
        }
    }

    #[test]
    fn ignored_file_that_git_tracks_is_checked() {
        let folder = folder(&[
            "a.py",
            "gen/b.py",
            "gen/c.py",
            "node_modules/d.py",
            "out/e.py",
        ]);
        let path = |name: &str| folder.path().join(name);
        fs::write(path(".gitignore"), "/gen/\n/out/\n").expect("a file");
        fs::write(path("hipward.toml"), "exclude = [\"out/\"]\n").expect("a file");
        for arguments in [
            &["init", "-q"][..],
            &["add", "--force", "gen/b.py", "node_modules", "out"],
        ] {
            let git = std::process::Command::new("git")
                .current_dir(folder.path())
                .args(arguments)
                .status();
            assert!(git.expect("git").success());
        }
        let all = [folder.path().to_owned()];
        let (names, _) = found(folder.path(), &all, Source::Nearest);
        assert_eq!(names, ["a.py", "gen/b.py"]);
    }

    #[test]
    fn invalid_configuration_is_reported_once() {
        let folder = folder(&["a.py", "b.py", "sub/c.py"]);
        fs::write(folder.path().join("hipward.toml"), "colour = 1\n").expect("a file");
        let paths = [folder.path().to_owned()];
        let (names, complaints) = found(folder.path(), &paths, Source::Nearest);
        assert_eq!(names, [""; 0]);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("hipward.toml:1: `colour`"));
    }

    #[test]
    fn excluded_folders_are_left_out_unless_a_file_is_named() {
        let folder = folder(&["a.py", "third_party/deep/b.py", "gen/c_pb2.py", "gen/d.py"]);
        let config = "exclude = [\"third_party/\", \"*_pb2.py\"]\n";
        fs::write(folder.path().join("hipward.toml"), config).expect("a file");
        let all = [folder.path().to_owned()];
        let (names, _) = found(folder.path(), &all, Source::Nearest);
        assert_eq!(names, ["a.py", "gen/d.py"]);
        let one = [folder.path().join("third_party/deep/b.py")];
        let (names, _) = found(folder.path(), &one, Source::Nearest);
        assert_eq!(names, ["third_party/deep/b.py"]);
    }
}
