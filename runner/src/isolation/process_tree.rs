//! The descendants of a process, and their memory. All of a worker's processes are below its
//! supervisor even if they detach, because orphans become children of the nearest subreaper.

use super::unnamed_usage::UnnamedUsage;
use crate::procfs;
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
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    let mut all_children: Option<HashMap<Pid, Vec<Pid>>> = None;
    while let Some(&parent) = found.get(next) {
        next += 1;
        match listed_children(parent) {
            Some(children) => found.extend(children),
            None => {
                let by_parent = all_children.get_or_insert_with(procfs::children_by_parent);
                found.extend(by_parent.remove(&parent).unwrap_or_default());
            }
        }
    }
    found.remove(0);
    found
}

/// The children of a process.
pub(super) fn children(parent: Pid) -> Vec<Pid> {
    listed_children(parent).unwrap_or_else(|| {
        let children = procfs::children_by_parent().remove(&parent);
        children.unwrap_or_default()
    })
}

/// The children as the kernel lists them, if it was built with that list. Far cheaper than reading all of /proc.
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in procfs::threads(parent) {
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

/// Fields of `/proc/PID/status` and `/proc/PID/stat`, of a process or a thread.
#[derive(Debug)]
pub(super) struct Status {
    /// The process that a thread belongs to.
    pub(super) process: Pid,
    pub(super) parent: Pid,
    pub(super) user: u32,
    /// Whether `no_new_privs` is set: the process cannot gain privileges by running a program.
    pub(super) no_new_privileges: bool,
    /// Start time, in ticks since boot.
    pub(super) started: u64,
}

impl Status {
    pub(super) fn of(pid: Pid) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name| procfs::status_field(&status, name);
        Some(Status {
            process: Pid::from_raw(field("Tgid:")?.parse().ok()?),
            parent: Pid::from_raw(field("PPid:")?.parse().ok()?),
            user: field("Uid:")?.parse().ok()?,
            no_new_privileges: field("NoNewPrivs:") == Some("1"),
            started: procfs::Stat::read(pid)?.started,
        })
    }
}

/// Whether a process is below `root`.
pub(super) fn is_below(process: Pid, root: Pid) -> bool {
    // A parent may end while the ancestors are read. The process then gets another parent.
    const TRIES: usize = 3;
    let parent = |&pid: &Pid| Status::of(pid).map(|status| status.parent);
    (0..TRIES).any(|_| {
        let ancestors = std::iter::successors(parent(&process), parent);
        ancestors.into_iter().any(|ancestor| ancestor == root)
    })
}

/// A measurement of several processes ended early, because their number or their time is over its limit.
///
/// The kernel answers late for a process that is forking, so that a measurement of many such processes takes minutes.
pub(super) struct Interrupted;

/// Whether these processes and their unnamed usage take more memory than `limit`, bytes. Calls `proceed` before each process.
pub(super) fn is_memory_over(
    limit: u64,
    processes: &[Pid],
    unnamed: UnnamedUsage,
    mut proceed: impl FnMut() -> Result<(), Interrupted>,
) -> Result<bool, Interrupted> {
    let mut total = |of: fn(Pid) -> Memory| {
        let (mut anonymous, mut shared) = (0, 0);
        for &pid in processes {
            proceed()?;
            let memory = of(pid);
            anonymous += memory.anonymous;
            shared += memory.shared;
        }
        // Shared memory appears twice: where it is mapped, and as a memory file.
        Ok(anonymous + shared.max(unnamed.shared_memory) + unnamed.sockets)
    };
    // The resident size counts pages shared by forking once per process. The exact size is slow to
    // read and locks the process meanwhile, so it is read only if the first one is over the limit.
    Ok(total(resident)? > limit && total(proportional)? > limit)
}

/// Memory in bytes, without mapped files.
struct Memory {
    anonymous: u64,
    shared: u64,
}

fn resident(pid: Pid) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    Memory {
        anonymous: kilobytes(&status, "RssAnon:"),
        shared: kilobytes(&status, "RssShmem:"),
    }
}

/// The same with each shared page divided among the processes that share it.
fn proportional(pid: Pid) -> Memory {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(rollup) if rollup.contains("Pss_Anon:") => Memory {
            anonymous: kilobytes(&rollup, "Pss_Anon:"),
            shared: kilobytes(&rollup, "Pss_Shmem:"),
        },
        _ => resident(pid),
    }
}

/// A value of /proc in kilobytes, converted to bytes.
fn kilobytes(text: &str, key: &str) -> u64 {
    let number = procfs::status_field(text, key).and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// Whether a process was stopped, by SIGSTOP for example.
pub(super) fn is_stopped(pid: Pid) -> bool {
    procfs::Stat::read(pid).is_some_and(|stat| matches!(stat.state, 'T' | 't'))
}

/// Kills every descendant of this process and waits until all have ended. Repeats because a process
/// may fork while the list is read; the limit on processes bounds the number of rounds. Calls `heartbeat` between
/// the steps.
pub(super) fn kill_descendants(mut heartbeat: impl FnMut()) {
    loop {
        kill_below(Pid::this());
        heartbeat();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                // Many large processes take long to end.
                Ok(_) => heartbeat(),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the present descendants of a process.
pub(super) fn kill_below(root: Pid) {
    for pid in descendants(root) {
        // It may have ended already.
        let _ = kill(pid, Signal::SIGKILL);
    }
}
