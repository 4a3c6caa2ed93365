//! The isolation of snippets: what this host supports, and the resulting level.
//!
//! The server does not start a snippet's process itself. It starts one supervisor per worker (this
//! same binary, `hipward sandbox-exec`), sends it a [`SandboxSpec`], and receives a report of how the worker ended. The
//! spec is applied between fork and exec. If any part fails, the process does not start,
//! so the level that a result states is always the actual one.
//!
//! Deliberately absent: containers and namespaces. They need privileges or helpers that a new
//! host does not have. An operator who has them can run all of Hipward inside.

mod cgroups;
mod cleanup;
mod disk_usage;
mod identity;
mod job_cgroup;
mod landlock;
mod limits;
mod orphans;
mod pre_exec;
mod process_filter;
mod process_tree;
mod sandbox_spec;
mod seccomp;
mod shared_memory;
mod spawn;
mod supervisor;
mod supervisor_protocol;
mod syscalls;
mod unnamed_usage;

pub(crate) use cgroups::{CgroupControls, CgroupSpec, Cgroups};
pub(crate) use cleanup::remove_folder;
pub(crate) use identity::{Identity, ReservedUid};
pub(crate) use limits::Limits;
pub(crate) use process_tree::descendants;
pub(crate) use sandbox_spec::{FileRules, SandboxSpec};
pub(crate) use spawn::{Sandboxed, spawn};
pub(crate) use supervisor::supervise;
pub(crate) use supervisor_protocol::{ExitReason, Limit, SupervisorReport};

use hipward_protocol::{Isolation, IsolationLevel};
use std::path::Path;

/// What each version of Landlock adds, described as missing where the kernel is older.
const LANDLOCK_ADDS: &[(u32, &str)] = &[
    (
        1,
        "restrictions on files: a snippet can read the files of this host; needs Linux 5.13 with \
         `landlock` in the kernel's `lsm=` list",
    ),
    (
        5,
        "restrictions on device control (ioctl); needs Linux 6.10",
    ),
    (
        6,
        "restrictions on signals to other processes of this user; needs Linux 6.12",
    ),
];

/// Described as missing where a worker has no cgroup, or one without controllers.
const NO_CGROUP: &str = "limits of the kernel on the memory and the number of threads of all processes of a job together; until \
     then they are checked ten times a second. Needs a delegated cgroup v2 with the controllers `memory` and `pids`, such as \
     `Delegate=yes` in a systemd unit";

/// What the kernel and the privileges of this process support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Landlock's ABI version.
    pub(crate) landlock_abi: Option<u32>,
    /// Whether seccomp filters can be installed.
    pub(crate) seccomp: bool,
    /// Whether this process is root, and can give each worker a user of its own.
    pub(crate) root: bool,
    /// Whether a part of the cgroup v2 tree is delegated to this process, and workers cannot leave their groups.
    pub(crate) cgroup: bool,
}

/// The mechanisms that may be used. Tests simulate older kernels with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermittedMechanisms {
    /// The newest Landlock ABI. 0 is none.
    pub(crate) newest_landlock: Option<u32>,
    /// Whether seccomp filters are not used.
    pub(crate) no_seccomp: bool,
    /// Whether cgroups are not used.
    pub(crate) no_cgroup: bool,
}

impl Host {
    /// Queries the kernel. Uses only the mechanisms that `permitted` permits.
    pub(crate) fn detect(permitted: PermittedMechanisms) -> Self {
        let newest = permitted.newest_landlock.unwrap_or(u32::MAX);
        let landlock_abi = syscalls::landlock_abi().map(|abi| abi.min(newest));
        let landlock_abi = landlock_abi.filter(|&abi| abi > 0);
        let root = nix::unistd::geteuid().is_root();
        // Without a user of its own, only Landlock prevents a worker from moving itself into another group.
        let is_confined = root || landlock_abi.is_some();
        Host {
            landlock_abi,
            seccomp: !permitted.no_seccomp && seccomp::is_available(),
            root,
            cgroup: !permitted.no_cgroup && is_confined && cgroups::delegated_group().is_some(),
        }
    }

    /// The level and the mechanisms of every worker of this host. `cgroup`: what the kernel enforces for a worker's cgroup.
    /// `closed`: the folder for which workers bypass file permissions.
    pub(crate) fn isolation(
        self,
        identity: Option<&Identity>,
        cgroup: Option<CgroupControls>,
        closed: Option<&Path>,
    ) -> Isolation {
        let mut mechanisms = vec![
            "own process tree, killed whole".to_owned(),
            "limits on time, memory, processes, files and output".to_owned(),
            "clean environment and private directory".to_owned(),
        ];
        let mut missing = Vec::new();
        if let Some(identity) = identity {
            mechanisms.push(format!("uid {}", identity.uid));
        }
        if self.seccomp {
            mechanisms.push("seccomp filter".to_owned());
        } else {
            missing.push(
                "restrictions on system calls; needs a kernel with seccomp filters".to_owned(),
            );
        }
        if let Some(abi) = self.landlock_abi {
            mechanisms.push(format!("Landlock ABI {abi}"));
        }
        let absent = LANDLOCK_ADDS
            .iter()
            .filter(|(since, _)| self.landlock_abi < Some(*since));
        missing.extend(absent.map(|(_, what)| (*what).to_owned()));
        if let Some(controls) = cgroup {
            mechanisms.push(format!("cgroup v2 ({})", controls.names()));
        }
        if !cgroup.is_some_and(|controls| controls.memory && controls.processes) {
            missing.push(NO_CGROUP.to_owned());
        }
        if let Some(closed) = closed {
            missing.push(format!(
                "file permissions: jobs can also read root's files in the folders that Landlock allows (such as /usr and \
                 /opt), because {} is closed to other users; needs a Python and a data folder that every user can reach",
                closed.display()
            ));
        }
        let level = match (self.seccomp, self.landlock_abi) {
            (false, _) => IsolationLevel::Limits,
            (true, None) => IsolationLevel::Syscalls,
            (true, Some(_)) => IsolationLevel::Files,
        };
        Isolation {
            level,
            mechanisms,
            missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(landlock_abi: Option<u32>, seccomp: bool) -> IsolationLevel {
        let host = Host {
            landlock_abi,
            seccomp,
            root: false,
            cgroup: false,
        };
        host.isolation(None, None, None).level
    }

    #[test]
    fn level_requires_every_lower_level() {
        assert_eq!(level(None, false), IsolationLevel::Limits);
        assert_eq!(level(Some(7), false), IsolationLevel::Limits);
        assert_eq!(level(None, true), IsolationLevel::Syscalls);
        assert_eq!(level(Some(2), true), IsolationLevel::Files);
    }

    #[test]
    fn missing_features_of_an_old_kernel_are_listed() {
        let bookworm = Host {
            landlock_abi: Some(2),
            seccomp: true,
            root: false,
            cgroup: false,
        };
        let missing = bookworm.isolation(None, None, None).missing;
        assert!(
            missing.iter().any(|line| line.contains("6.12")),
            "{missing:?}"
        );
    }
}
