//! Waits for changes of files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use notify::{EventKind, RecursiveMode, Watcher};

use crate::config::is_configuration;

/// Time without a change after which changes are reported. An editor writes a file in several steps, and a checkout writes many files.
const SETTLED: Duration = Duration::from_millis(100);
/// Time after which changes are reported even if more follow, such as writes to a log.
const UNSETTLED: Duration = Duration::from_secs(2);

/// Changes since the last report.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether a configuration file or a team's rule has changed.
    pub(super) configuration: bool,
    /// Canonical paths of files and of new folders.
    files: HashSet<PathBuf>,
}

impl Changes {
    /// Whether a file has changed, or was added with its folder.
    pub(super) fn touch(&self, file: &Path) -> bool {
        let file = whole(file);
        file.ancestors().any(|path| self.files.contains(path))
    }
}

/// A watcher of paths and their configuration.
pub(super) struct Watch {
    scope: Scope,
    events: mpsc::Receiver<notify::Result<notify::Event>>,
    watcher: notify::RecommendedWatcher,
}

impl Watch {
    /// Watches `paths` and their configuration. Changes before the first call of [`Watch::next`] are not lost.
    pub(super) fn new(paths: &[PathBuf]) -> Result<Watch, String> {
        let (sender, events) = mpsc::channel();
        let watcher = notify::recommended_watcher(sender)
            .map_err(|error| format!("cannot watch: {error}"))?;
        let scope = Scope {
            paths: paths.iter().map(|path| whole(path)).collect(),
            rules: Vec::new(),
        };
        let folders = scope.folders();
        let mut watch = Watch {
            scope,
            events,
            watcher,
        };
        for (folder, mode) in folders {
            watch.watch(&folder, mode)?;
        }
        Ok(watch)
    }

    /// Watches folders of rules too, which are known once the configuration was read.
    pub(super) fn add_rules(&mut self, folders: Vec<PathBuf>) -> Result<(), String> {
        for folder in folders {
            let folder = whole(&folder);
            if !self.scope.rules.contains(&folder) {
                self.watch(&folder, RecursiveMode::Recursive)?;
                self.scope.rules.push(folder);
            }
        }
        Ok(())
    }

    /// Waits for changes. None when the watcher has ended.
    pub(super) fn next(&self) -> Option<Changes> {
        loop {
            let mut changes = Changes::default();
            self.scope.add(self.events.recv().ok()?, &mut changes);
            let end = Instant::now() + UNSETTLED;
            while let Ok(next) = self.events.recv_timeout(SETTLED) {
                self.scope.add(next, &mut changes);
                if Instant::now() > end {
                    break;
                }
            }
            if changes.configuration || !changes.files.is_empty() {
                return Some(changes);
            }
        }
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> Result<(), String> {
        self.watcher
            .watch(folder, mode)
            .map_err(|error| format!("{} cannot be watched: {error}", folder.display()))
    }
}

/// The paths whose changes are reported.
struct Scope {
    paths: Vec<PathBuf>,
    rules: Vec<PathBuf>,
}

impl Scope {
    /// The folders to watch.
    fn folders(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let mut folders = Vec::new();
        for path in &self.paths {
            // Editors replace files, which only a watch of the folder detects.
            let (folder, mode) = match path.parent() {
                Some(parent) if path.is_file() => (parent, RecursiveMode::NonRecursive),
                _ => (path.as_path(), RecursiveMode::Recursive),
            };
            folders.push((folder.to_owned(), mode));
            // The configuration may be in a parent folder.
            let above = folder.ancestors().skip(1).filter(|folder| {
                let mut entries = folder.read_dir().into_iter().flatten().flatten();
                entries.any(|entry| is_configuration(&entry.path()))
            });
            folders.extend(above.map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive)));
        }
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
        // Reading a file is an event too, and checking reads files.
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
