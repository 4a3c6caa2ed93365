//! The processes below one process, and what they use. All of a worker's processes are below its
//! supervisor whatever they do, because orphans are handed to the nearest subreaper.

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{collections::HashMap, fs, thread, time::Duration};

/// Every process below `root`.
pub(super) fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    let mut all_children: Option<HashMap<Pid, Vec<Pid>>> = None;
    while let Some(&parent) = found.get(next) {
        next += 1;
        match listed_children(parent) {
            Some(children) => found.extend(children),
            None => {
                let by_parent = all_children.get_or_insert_with(children_by_parent);
                found.extend(by_parent.remove(&parent).unwrap_or_default());
            }
        }
    }
    found.remove(0);
    found
}

/// Children as the kernel lists them, where it is built to; far cheaper than reading all of /proc.
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    let threads = fs::read_dir(format!("/proc/{parent}/task")).ok();
    for thread in threads.into_iter().flatten().flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => {
                let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
                children.extend(pids.map(Pid::from_raw));
            }
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

fn children_by_parent() -> HashMap<Pid, Vec<Pid>> {
    let mut by_parent: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // `pid (name) state parent …`, and a name may hold anything, so from the last bracket on.
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        let parent = after_name.and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        if let Some(parent) = parent {
            let siblings = by_parent.entry(Pid::from_raw(parent)).or_default();
            siblings.push(Pid::from_raw(pid));
        }
    }
    by_parent
}

/// Bytes of memory that only these processes hold, if that is more than `limit`.
pub(super) fn memory_over(limit: u64, processes: &[Pid]) -> Option<u64> {
    // Pages shared by forking are counted once per process at first; the exact figure is slow to
    // get and holds a lock of the process meanwhile, so it is asked for only when it matters.
    let upper_bound: u64 = processes.iter().map(|&pid| resident(pid)).sum();
    if upper_bound <= limit {
        return None;
    }
    let exact: u64 = processes.iter().map(|&pid| proportional(pid)).sum();
    (exact > limit).then_some(exact)
}

/// Anonymous and shared memory, without mapped files.
fn resident(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kilobytes(&status, "RssAnon:") + kilobytes(&status, "RssShmem:")
}

/// The same with each shared page divided among its holders.
fn proportional(pid: Pid) -> u64 {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(rollup) if rollup.contains("Pss_Anon:") => {
            kilobytes(&rollup, "Pss_Anon:") + kilobytes(&rollup, "Pss_Shmem:")
        }
        _ => resident(pid),
    }
}

fn kilobytes(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// Kills a process of ours and everything below it: first what is below, while it can still be found there. What does
/// not die within about a second is held up in the kernel.
pub(crate) fn kill_tree(root: Pid) {
    for _ in 0..1000 {
        let mut alive = descendants(root);
        // The dead that nobody has waited for are still listed.
        alive.retain(|&pid| !is_dead(pid));
        if alive.is_empty() {
            break;
        }
        for pid in alive {
            let _ = kill(pid, Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
    let _ = kill(root, Signal::SIGKILL);
}

fn is_dead(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_none_or(|rest| rest.starts_with(['Z', 'X']))
}

/// Kills everything below this process and waits until nothing is left. Repeats because a process
/// may fork while the list is read; the limit on processes bounds how long it can go on.
pub(super) fn kill_descendants() {
    loop {
        for pid in descendants(Pid::this()) {
            // It may be gone already.
            let _ = kill(pid, Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) => {}
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}
