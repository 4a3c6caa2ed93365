//! Reads `/proc`: the one reader for job isolation and for the measurement of the host's load.

use nix::unistd::Pid;
use std::{collections::HashMap, fs, os::unix::fs::MetadataExt};

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stat {
    /// `R`, `S`, `D`, `T`, `Z`, …
    pub(crate) state: char,
    /// The parent process.
    pub(crate) parent: Pid,
    /// CPU time in ticks, including that of children that have ended.
    pub(crate) cpu_ticks: f64,
    /// Start time in ticks since boot. Tells processes with the same id apart.
    pub(crate) started: u64,
}

impl Stat {
    /// Reads a process's line; none for a process that does not exist.
    pub(crate) fn read(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        // `pid (name) state parent …`. The name may contain anything, so fields are counted from the last bracket.
        let (_, fields) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
            cpu_ticks: number(11)? + number(12)? + number(13)? + number(14)?,
            started: fields.get(19)?.trim_end().parse().ok()?,
        })
    }
}

/// The ids of all processes.
pub(crate) fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)))
}

/// The user of a process.
pub(crate) fn owner(pid: Pid) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// The folders of a process's threads.
pub(crate) fn threads(pid: Pid) -> impl Iterator<Item = fs::DirEntry> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten()
}

/// Every process by its parent.
pub(crate) fn children_by_parent() -> HashMap<Pid, Vec<Pid>> {
    let mut by_parent: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for pid in processes() {
        if let Some(stat) = Stat::read(pid) {
            by_parent.entry(stat.parent).or_default().push(pid);
        }
    }
    by_parent
}

/// The first word after `name` (such as `Uid:`) in the text of a `status` file.
pub(crate) fn status_field<'text>(status: &'text str, name: &str) -> Option<&'text str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_line_is_parsed_with_any_process_name() {
        let line = "7 (a ) b) R 1 7 7 0 -1 4194560 120 0 0 0 30 12 5 1 20 0 1 0 4242 0 0\n";
        let stat = Stat::parse(line).expect("a line");
        let expected = Stat {
            state: 'R',
            parent: Pid::from_raw(1),
            cpu_ticks: 48.0,
            started: 4242,
        };
        assert_eq!(stat, expected);
        assert_eq!(Stat::parse("7 (a"), None);
    }

    #[test]
    fn own_process_is_listed_below_its_parent() {
        let own = Pid::this();
        assert!(processes().any(|pid| pid == own));
        let stat = Stat::read(own).expect("exists");
        assert!(children_by_parent()[&stat.parent].contains(&own));
        assert_eq!(owner(own), Some(nix::unistd::geteuid().as_raw()));
    }
}
