//! Waiting for files to change. Nothing about what is done then.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher};

use crate::config::is_configuration;

/// An editor writes a file in several steps, and a checkout writes many files: this long after the last one it is over.
const SETTLED: Duration = Duration::from_millis(100);

/// What changed since the last time.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// A configuration file or a team's rule.
    pub(super) configuration: bool,
    /// Whole paths, of files and of new folders.
    files: HashSet<PathBuf>,
}

impl Changes {
    /// True for a file that changed, or that came with its folder.
    pub(super) fn touch(&self, file: &Path) -> bool {
        let file = whole(file);
        file.ancestors().any(|path| self.files.contains(path))
    }
}

/// Calls `changed` after each change below `paths`, of their configuration and of the rules, until the process is ended.
pub(super) fn run(
    paths: &[PathBuf],
    rules: &[PathBuf],
    mut changed: impl FnMut(Changes),
) -> Result<(), String> {
    let scope = Scope {
        paths: paths.iter().map(|path| whole(path)).collect(),
        rules: rules.iter().map(|path| whole(path)).collect(),
    };
    let (sender, receiver) = mpsc::channel();
    let mut watcher =
        notify::recommended_watcher(sender).map_err(|error| format!("cannot watch: {error}"))?;
    for (folder, mode) in scope.folders() {
        watcher
            .watch(&folder, mode)
            .map_err(|error| format!("{} cannot be watched: {error}", folder.display()))?;
    }
    eprintln!("hipward: watching for changes; Ctrl-C ends it");
    while let Ok(first) = receiver.recv() {
        let mut changes = Changes::default();
        scope.add(first, &mut changes);
        while let Ok(next) = receiver.recv_timeout(SETTLED) {
            scope.add(next, &mut changes);
        }
        if changes.configuration || !changes.files.is_empty() {
            changed(changes);
        }
    }
    Ok(())
}

/// What matters.
struct Scope {
    paths: Vec<PathBuf>,
    rules: Vec<PathBuf>,
}

impl Scope {
    /// The folders to watch.
    fn folders(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let mut folders = Vec::new();
        for path in &self.paths {
            // An editor puts a new file in the place of the old one, which only its folder hears of.
            let (folder, mode) = match path.parent() {
                Some(parent) if path.is_file() => (parent, RecursiveMode::NonRecursive),
                _ => (path.as_path(), RecursiveMode::Recursive),
            };
            folders.push((folder.to_owned(), mode));
            // The configuration may lie further up.
            let above = folder.ancestors().skip(1).filter(|folder| {
                let mut entries = folder.read_dir().into_iter().flatten().flatten();
                entries.any(|entry| is_configuration(&entry.path()))
            });
            folders.extend(above.map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive)));
        }
        let rules = self.rules.iter();
        folders.extend(rules.map(|folder| (folder.clone(), RecursiveMode::Recursive)));
        folders
    }

    fn add(&self, event: notify::Result<notify::Event>, changes: &mut Changes) {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                eprintln!("hipward: while watching: {error}");
                return;
            }
        };
        // Reading a file is an event too, and judging reads them.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for path in event.paths.iter().map(|path| whole(path)) {
            let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
            changes.configuration |= is_in(&self.rules) || is_configuration(&path);
            if is_in(&self.paths) {
                changes.files.insert(path);
            }
        }
    }
}

fn whole(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
