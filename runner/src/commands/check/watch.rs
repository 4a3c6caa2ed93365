//! Waiting for files to change. Nothing about what is done then.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use notify::{EventKind, RecursiveMode, Watcher};

use crate::config::is_configuration;

/// An editor writes a file in several steps, and a checkout writes many files: this long after the last one it is over.
const SETTLED: Duration = Duration::from_millis(100);
/// Where something is written all the time, such as a log, it is looked at this often all the same.
const UNSETTLED: Duration = Duration::from_secs(2);

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

/// Some paths and what is said about them elsewhere, watched.
pub(super) struct Watch {
    scope: Scope,
    events: mpsc::Receiver<notify::Result<notify::Event>>,
    watcher: notify::RecommendedWatcher,
}

impl Watch {
    /// Watches `paths` and their configuration from now on: what changes before [`Watch::next`] is called is kept for it.
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

    /// Watches these folders of rules too; which they are is known once the configuration was read.
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

    /// Waits for changes; none when nobody can tell of any more.
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
