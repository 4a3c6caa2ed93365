//! The processes below one process, and what they use. All of a worker's processes are below its
//! supervisor whatever they do, because orphans are handed to the nearest subreaper.

use super::held::Held;
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

/// The children of a process.
pub(super) fn children(parent: Pid) -> Vec<Pid> {
    listed_children(parent).unwrap_or_else(|| {
        let children = children_by_parent().remove(&parent);
        children.unwrap_or_default()
    })
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
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let pid = Pid::from_raw(pid);
        if let Some(status) = Status::of(pid) {
            by_parent.entry(status.parent).or_default().push(pid);
        }
    }
    by_parent
}

/// What the kernel says of a process or a thread.
#[derive(Debug)]
pub(super) struct Status {
    /// The process that a thread belongs to.
    pub(super) process: Pid,
    pub(super) parent: Pid,
    pub(super) user: u32,
    /// Whether it can gain no privileges by running a program.
    pub(super) no_new_privileges: bool,
    /// When it started, in ticks since the machine did.
    pub(super) started: u64,
}

impl Status {
    pub(super) fn of(pid: Pid) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()
        };
        // `pid (name) state parent …`, and a name may hold anything, so from the last bracket on.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after_name) = stat.rsplit_once(") ")?;
        Some(Status {
            process: Pid::from_raw(field("Tgid:")?.parse().ok()?),
            parent: Pid::from_raw(field("PPid:")?.parse().ok()?),
            user: field("Uid:")?.parse().ok()?,
            no_new_privileges: field("NoNewPrivs:") == Some("1"),
            started: after_name.split(' ').nth(19)?.parse().ok()?,
        })
    }
}

/// Whether a process is below `root`.
pub(super) fn is_below(process: Pid, root: Pid) -> bool {
    // A parent may end while the way up is read; then the process has another one.
    const TRIES: usize = 3;
    let parent = |&pid: &Pid| Status::of(pid).map(|status| status.parent);
    (0..TRIES).any(|_| {
        let ancestors = std::iter::successors(parent(&process), parent);
        ancestors.into_iter().any(|ancestor| ancestor == root)
    })
}

/// Whether these processes, with what they `held` besides, have more memory than `limit`.
pub(super) fn is_memory_over(limit: u64, processes: &[Pid], held: Held) -> bool {
    let total = |of: fn(Pid) -> Memory| {
        let memory = processes.iter().map(|&pid| of(pid));
        let (anonymous, shared) = memory.fold((0, 0), |(anonymous, shared), memory| {
            (anonymous + memory.anonymous, shared + memory.shared)
        });
        // Shared memory is seen twice: where it is mapped, and as the file behind it.
        anonymous + shared.max(held.shared_memory) + held.sockets
    };
    // Pages shared by forking are counted once per process at first; the exact figure is slow to
    // get and holds a lock of the process meanwhile, so it is asked for only when it matters.
    total(resident) > limit && total(proportional) > limit
}

/// Bytes, without mapped files.
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

/// The same with each shared page divided among its holders.
fn proportional(pid: Pid) -> Memory {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(rollup) if rollup.contains("Pss_Anon:") => Memory {
            anonymous: kilobytes(&rollup, "Pss_Anon:"),
            shared: kilobytes(&rollup, "Pss_Shmem:"),
        },
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
        // Zombies are still listed.
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
    state(pid).is_none_or(|state| matches!(state, 'Z' | 'X'))
}

/// Whether a process was stopped, by SIGSTOP for example.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    state(pid).is_some_and(|state| matches!(state, 'T' | 't'))
}

/// A process's state as the kernel writes it; nothing for one that is gone.
fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // `pid (name) state …`, and a name may hold anything, so from the last bracket on.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Kills everything below this process and waits until nothing is left. Repeats because a process
/// may fork while the list is read; the limit on processes bounds how long it can go on. Says now and then that it is
/// still at it.
pub(super) fn kill_descendants(mut still_here: impl FnMut()) {
    loop {
        kill_below(Pid::this());
        still_here();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                // Many large processes take long to go.
                Ok(_) => still_here(),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Kills everything that is below a process now.
pub(super) fn kill_below(root: Pid) {
    for pid in descendants(root) {
        // It may be gone already.
        let _ = kill(pid, Signal::SIGKILL);
    }
}
