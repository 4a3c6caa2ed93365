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
    /// Whole paths.
    pub(super) files: HashSet<PathBuf>,
}

/// Calls `changed` after each change below `paths` and of the rules, until the process is ended.
pub(super) fn run(
    paths: &[PathBuf],
    rules: Option<&Path>,
    mut changed: impl FnMut(Changes),
) -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    let mut watcher =
        notify::recommended_watcher(sender).map_err(|error| format!("cannot watch: {error}"))?;
    for path in paths.iter().map(PathBuf::as_path).chain(rules) {
        watcher
            .watch(path, RecursiveMode::Recursive)
            .map_err(|error| format!("{} cannot be watched: {error}", path.display()))?;
    }
    let rules = rules.and_then(|folder| std::fs::canonicalize(folder).ok());
    eprintln!("hipward: watching for changes; Ctrl-C ends it");
    while let Ok(first) = receiver.recv() {
        let mut changes = Changes::default();
        changes.add(first, rules.as_deref());
        while let Ok(next) = receiver.recv_timeout(SETTLED) {
            changes.add(next, rules.as_deref());
        }
        if changes.configuration || !changes.files.is_empty() {
            changed(changes);
        }
    }
    Ok(())
}

impl Changes {
    fn add(&mut self, event: notify::Result<notify::Event>, rules: Option<&Path>) {
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
        for path in event.paths {
            let path = std::fs::canonicalize(&path).unwrap_or(path);
            let is_rule = rules.is_some_and(|rules| path.starts_with(rules));
            self.configuration |= is_rule || is_configuration(&path);
            self.files.insert(path);
        }
    }
}
