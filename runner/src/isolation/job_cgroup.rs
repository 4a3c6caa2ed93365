//! The cgroup of one worker. Its supervisor creates it, puts the worker into it and removes it.

use super::{cgroups::CgroupSpec, limits::Limits};
use nix::unistd::Pid;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// A group, which is removed by [`JobCgroup::remove`].
#[derive(Debug)]
pub(super) struct JobCgroup {
    folder: PathBuf,
    /// Whether the kernel limits its memory.
    limits_memory: bool,
}

impl JobCgroup {
    /// Creates the group of the worker that this process starts, with its limits.
    pub(super) fn create(spec: &CgroupSpec, limits: &Limits) -> io::Result<Self> {
        let folder = spec.folder(Pid::this());
        fs::create_dir(&folder)?;
        let group = JobCgroup {
            folder,
            limits_memory: spec.controls.memory,
        };
        let set = group.set_limits(spec, limits);
        if set.is_err() {
            group.remove();
        }
        set.map(|()| group)
    }

    fn set_limits(&self, spec: &CgroupSpec, limits: &Limits) -> io::Result<()> {
        let write = |name: &str, value: u64| fs::write(self.folder.join(name), value.to_string());
        if spec.controls.memory {
            write("memory.max", limits.memory_bytes)?;
            // One process that is left of many would hang.
            write("memory.oom.group", 1)?;
            // Missing on a host without swap.
            if self.folder.join("memory.swap.max").exists() {
                write("memory.swap.max", 0)?;
            }
        }
        if spec.controls.processes {
            write("pids.max", spec.threads)?;
        }
        Ok(())
    }

    /// The file through which a process enters the group, which writes `0` to it. Opened by the supervisor, whose permissions count.
    pub(super) fn entrance(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .open(self.folder.join("cgroup.procs"))
    }

    /// Whether the kernel limits its memory, so that nothing else has to.
    pub(super) fn limits_memory(&self) -> bool {
        self.limits_memory
    }

    /// Whether the kernel has killed its processes because they needed more memory than the limit.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        let killed = events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        killed.is_some_and(|number| number.trim() != "0")
    }

    /// Whether it is at its limit with memory that the kernel cannot reclaim, except for 2 %. The kernel may then discard and read
    /// again the pages of programs for ever, instead of killing a process.
    pub(super) fn is_full(&self) -> bool {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let number = |text: &str| text.trim().parse::<u64>().unwrap_or(0);
        let (current, limit) = (number(&read("memory.current")), number(&read("memory.max")));
        let stat = read("memory.stat");
        let held = stat.lines().filter_map(|line| match line.split_once(' ')? {
            ("anon" | "shmem", bytes) => Some(number(bytes)),
            _ => None,
        });
        limit > 0 && current >= limit - limit / 100 && held.sum::<u64>() >= limit - limit / 50
    }

    /// Kills all of its processes.
    pub(super) fn kill(&self) {
        kill(&self.folder);
    }

    /// Removes the group, once its processes have ended.
    pub(super) fn remove(&self) {
        remove(&self.folder);
    }
}

/// Kills the processes of a worker's group.
pub(super) fn kill(folder: &Path) {
    // Missing before Linux 5.14, and without an existing group. The processes are then found by their parents.
    if let Ok(mut file) = OpenOptions::new()
        .write(true)
        .open(folder.join("cgroup.kill"))
    {
        let _ = file.write_all(b"1");
    }
}

/// Removes a worker's group, once its processes have ended.
pub(super) fn remove(folder: &Path) {
    /// A process that was waited for may still be listed for a moment.
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            // The next start of a server removes what cannot be removed now.
            _ => return,
        }
    }
}
