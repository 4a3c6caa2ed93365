//! The server's part of the cgroup v2 tree. Each worker gets a group below it, in which the kernel counts all of its memory and
//! processes and can kill them together; see `job_cgroup.rs`.
//!
//! The part must be delegated to the server: a systemd unit with `Delegate=yes`, a container with a writable cgroup file system, or
//! the root of the tree on a machine without systemd.

use super::{Limits, syscalls};
use nix::{
    sys::signal::kill,
    unistd::{AccessFlags, Pid, access},
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Beginning of the names of the servers' groups.
const SERVER_PREFIX: &str = "hipward-";
/// The group of the server's own processes, because a group with controllers has either processes or groups.
const OWN_GROUP: &str = "server";
/// Where a host with systemd has its state.
const SYSTEMD: &str = "/run/systemd/system";
/// The attributes with which systemd marks a delegated group.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// What the kernel enforces for the groups of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CgroupControls {
    /// Memory, also in shared mappings, memory files and socket buffers.
    pub(crate) memory: bool,
    /// The number of threads.
    pub(crate) processes: bool,
    /// Killing all processes at once. Needs Linux 5.14.
    pub(crate) kill: bool,
}

impl CgroupControls {
    /// The names of the controls, for the statement of the isolation.
    pub(super) fn names(self) -> String {
        let all = [
            (self.memory, "memory"),
            (self.processes, "processes"),
            (self.kill, "kill"),
        ];
        let present: Vec<&str> = all.iter().filter(|one| one.0).map(|one| one.1).collect();
        present.join(", ")
    }
}

/// Where a supervisor creates the group of its worker, and the limits of the group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CgroupSpec {
    /// The group of the server.
    pub(super) parent: PathBuf,
    /// What the kernel enforces.
    pub(super) controls: CgroupControls,
    /// Maximum number of threads of all processes.
    pub(super) threads: u64,
}

impl CgroupSpec {
    /// The group of the worker that a supervisor starts.
    pub(super) fn folder(&self, supervisor: Pid) -> PathBuf {
        self.parent.join(format!("worker-{supervisor}"))
    }
}

/// The group of this server.
#[derive(Clone, Debug)]
pub(crate) struct Cgroups {
    /// The group that was delegated.
    delegated: PathBuf,
    controls: CgroupControls,
}

impl Cgroups {
    /// Prepares the group of this server. The first call does it for the whole process, which moves into a group of its own.
    pub(crate) fn prepare() -> io::Result<Self> {
        static PREPARED: OnceLock<Result<Cgroups, String>> = OnceLock::new();
        let prepared =
            PREPARED.get_or_init(|| Self::try_prepare().map_err(|error| error.to_string()));
        prepared.clone().map_err(io::Error::other)
    }

    fn try_prepare() -> io::Result<Self> {
        let delegated = delegated_group()
            .ok_or_else(|| io::Error::other("no cgroup v2 is delegated to this process"))?;
        remove_ended_servers(&delegated);
        let own = own_folder(&delegated);
        create(&own)?;
        // The root of the tree may have processes beside groups.
        if delegated.join("cgroup.type").exists() {
            let group = own.join(OWN_GROUP);
            create(&group)?;
            fs::write(group.join("cgroup.procs"), std::process::id().to_string())?;
        }
        let controls = enable(&delegated, &own);
        if controls == CgroupControls::default() {
            return Err(io::Error::other(
                "the delegated group has no controllers for memory and pids, and the kernel no cgroup.kill",
            ));
        }
        Ok(Cgroups {
            delegated,
            controls,
        })
    }

    /// What the kernel enforces for each worker.
    pub(crate) fn controls(&self) -> CgroupControls {
        self.controls
    }

    /// The group of the next worker.
    pub(crate) fn spec(&self) -> io::Result<CgroupSpec> {
        let own = own_folder(&self.delegated);
        // Another server may have removed it while it had no processes: one in another PID namespace, to which this process has ended.
        if !own.exists() {
            create(&own)?;
            enable(&self.delegated, &own);
        }
        Ok(CgroupSpec {
            parent: own,
            controls: self.controls,
            threads: Limits::threads(0),
        })
    }
}

/// The group of this process, if this process may create groups below it.
pub(super) fn delegated_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let folder = folder_of(&mounts, &own)?;
    let writable = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
    if !writable(&folder) || !writable(&folder.join("cgroup.procs")) {
        return None;
    }
    let is_marked = || {
        let mut names = DELEGATED.iter();
        names.any(|name| syscalls::has_attribute(&folder, name, b"1"))
    };
    // systemd removes and changes the groups that it has not delegated.
    let is_delegated = !Path::new(SYSTEMD).exists() || is_marked();
    is_delegated.then_some(folder)
}

/// The folder of a process's group in the cgroup v2 file system, from its `mountinfo` and its `cgroup` file.
fn folder_of(mounts: &str, own: &str) -> Option<PathBuf> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut mounted = mounts.lines().filter_map(|line| {
        let (fields, file_system) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, target) = (fields.next()?, fields.next()?);
        file_system
            .starts_with("cgroup2 ")
            .then_some((root, target))
    });
    // A part of the tree may be mounted, such as that of a container.
    mounted.find_map(|(root, target)| {
        let below = Path::new(group).strip_prefix(root).ok()?;
        let is_inside = !below.components().any(|part| part.as_os_str() == "..");
        is_inside.then(|| Path::new(target).join(below))
    })
}

fn own_folder(delegated: &Path) -> PathBuf {
    delegated.join(format!("{SERVER_PREFIX}{}", std::process::id()))
}

fn create(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// Enables the controllers that the delegated group has. Fails for a controller if the group has other processes.
fn enable(delegated: &Path, own: &Path) -> CgroupControls {
    let enabled = |name: &str| {
        let is_enabled = |folder: &Path| {
            fs::write(folder.join("cgroup.subtree_control"), format!("+{name}")).is_ok()
        };
        is_enabled(delegated) && is_enabled(own)
    };
    CgroupControls {
        memory: enabled("memory"),
        processes: enabled("pids"),
        kill: own.join("cgroup.kill").exists(),
    }
}

/// Removes the groups of servers that have ended. A group with processes cannot be removed.
fn remove_ended_servers(delegated: &Path) {
    let groups = fs::read_dir(delegated).into_iter().flatten().flatten();
    for group in groups {
        let name = group.file_name();
        let server = name
            .to_str()
            .and_then(|name| name.strip_prefix(SERVER_PREFIX));
        let Some(Ok(server)) = server.map(str::parse) else {
            continue;
        };
        let has_ended = kill(Pid::from_raw(server), None).is_err();
        if has_ended || server.cast_unsigned() == std::process::id() {
            let below = fs::read_dir(group.path()).into_iter().flatten().flatten();
            for group in below {
                let _ = fs::remove_dir(group.path());
            }
            let _ = fs::remove_dir(group.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "25 30 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    /// A part of the host's tree, in a container without a namespace of its own.
    const PART: &str = "41 31 0:38 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n";

    #[test]
    fn group_of_a_process_is_found_in_each_layout() {
        let found = |mounts, own| folder_of(mounts, own).map(|path| path.display().to_string());
        let unit = "0::/system.slice/hipward.service\n";
        assert_eq!(
            found(UNIFIED, unit).as_deref(),
            Some("/sys/fs/cgroup/system.slice/hipward.service")
        );
        let hybrid = "4:memory:/a\n0::/b\n";
        assert_eq!(
            found(HYBRID, hybrid).as_deref(),
            Some("/sys/fs/cgroup/unified/b")
        );
        assert_eq!(
            found(PART, "0::/docker/ab\n").as_deref(),
            Some("/sys/fs/cgroup/")
        );
        // Outside of what is mounted.
        assert_eq!(found(PART, "0::/other\n"), None);
        assert_eq!(found(UNIFIED, "0::/../outside\n"), None);
        assert_eq!(found("", unit), None);
        assert_eq!(found(UNIFIED, "4:memory:/a\n"), None);
    }
}
