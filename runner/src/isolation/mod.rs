//! The isolation of snippets: what this host supports, and the resulting level.
//!
//! The server does not start a snippet's process itself. It starts one supervisor per worker (this
//! same binary, `hipward sandbox-exec`), sends it a [`SandboxSpec`], and receives a report of how the worker ended. The
//! spec is applied between fork and exec. If any part fails, the process does not start,
//! so the level that a result states is always the actual one.
//!
//! Namespaces come from bubblewrap, where it is installed and works. Deliberately absent: containers, which need privileges or
//! services that a new host does not have. An operator who has them can run all of Hipward inside.

mod bubblewrap;
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
mod stage;
mod supervisor;
mod supervisor_protocol;
mod syscalls;
mod trial;
mod unnamed_usage;

pub(crate) use bubblewrap::Namespaces;
pub(crate) use cgroups::{CgroupControls, CgroupSpec, Cgroups};
pub(crate) use cleanup::remove_folder;
pub(crate) use disk_usage::MAX_FILES;
pub(crate) use identity::{Identity, ReservedUid};
pub(crate) use limits::Limits;
pub(crate) use process_tree::descendants;
pub(crate) use sandbox_spec::{FileRules, SandboxSpec};
pub(crate) use spawn::{Sandboxed, spawn};
pub(crate) use stage::run_stage;
pub(crate) use supervisor::supervise;
pub(crate) use supervisor_protocol::{ExitReason, Limit, SupervisorReport};
pub(crate) use trial::attempt;

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
pub(crate) const NO_CGROUP: &str = "limits of the kernel on the memory and the number of threads of all processes of a job together; until \
     then they are checked ten times a second. Needs a delegated cgroup v2 with the controllers `memory` and `pids`, such as \
     `Delegate=yes` in a systemd unit";

/// Described as missing where workers have no namespaces, with the reason.
pub(crate) const NO_NAMESPACES: &str =
    "namespaces: own processes, no network, and no files but those that a job needs";

/// What the kernel, the installed programs and the privileges of this process support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Landlock's ABI version.
    pub(crate) landlock_abi: Option<u32>,
    /// Whether seccomp filters can be installed.
    pub(crate) seccomp: bool,
    /// Whether this process is root, and can give each worker a user of its own.
    pub(crate) root: bool,
    /// Whether a part of the cgroup v2 tree is delegated to this process.
    pub(crate) cgroup: bool,
    /// Whether workers get namespaces of their own. Not certain before a trial.
    pub(crate) namespaces: Namespaces,
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
    /// Whether bubblewrap is not used.
    pub(crate) no_bubblewrap: bool,
}

impl Host {
    /// Queries the kernel. Uses only the mechanisms that `permitted` permits.
    pub(crate) fn detect(permitted: PermittedMechanisms) -> Self {
        let newest = permitted.newest_landlock.unwrap_or(u32::MAX);
        let landlock_abi = syscalls::landlock_abi().map(|abi| abi.min(newest));
        let landlock_abi = landlock_abi.filter(|&abi| abi > 0);
        Host {
            landlock_abi,
            seccomp: !permitted.no_seccomp && seccomp::is_available(),
            root: nix::unistd::geteuid().is_root(),
            cgroup: !permitted.no_cgroup && cgroups::delegated_group().is_some(),
            namespaces: Namespaces::detect(!permitted.no_bubblewrap),
        }
    }

    /// Whether a worker cannot move itself into another cgroup: it has a user of its own, or cannot write to the groups' files.
    pub(crate) fn keeps_cgroups(&self) -> bool {
        self.root || self.restricts_files()
    }

    /// Whether a worker can access only the files that it needs.
    pub(crate) fn restricts_files(&self) -> bool {
        self.landlock_abi.is_some() || self.namespaces.program().is_some()
    }

    /// The level and the mechanisms of every worker of this host. `cgroup`: what the kernel enforces for a worker's cgroup.
    /// `closed`: the folder for which workers bypass file permissions.
    pub(crate) fn isolation(
        &self,
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
        match &self.namespaces {
            Namespaces::Bubblewrap(_) => mechanisms
                .push("bubblewrap (namespaces for processes, network, IPC and files)".to_owned()),
            Namespaces::None(reason) => missing.push(format!(
                "{NO_NAMESPACES}; needs bubblewrap (`bwrap`): {reason}"
            )),
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
        let level = match (self.seccomp, &self.namespaces, self.landlock_abi) {
            (false, ..) => IsolationLevel::Limits,
            (true, Namespaces::Bubblewrap(_), _) => IsolationLevel::Namespaces,
            (true, Namespaces::None(_), Some(_)) => IsolationLevel::Files,
            (true, Namespaces::None(_), None) => IsolationLevel::Syscalls,
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

    fn host(landlock_abi: Option<u32>, seccomp: bool) -> Host {
        Host {
            landlock_abi,
            seccomp,
            root: false,
            cgroup: false,
            namespaces: Namespaces::None("it is not installed".to_owned()),
        }
    }

    fn level(host: &Host) -> IsolationLevel {
        host.isolation(None, None, None).level
    }

    #[test]
    fn level_requires_every_lower_level() {
        assert_eq!(level(&host(None, false)), IsolationLevel::Limits);
        assert_eq!(level(&host(Some(7), false)), IsolationLevel::Limits);
        assert_eq!(level(&host(None, true)), IsolationLevel::Syscalls);
        assert_eq!(level(&host(Some(2), true)), IsolationLevel::Files);
        let in_namespaces = |landlock, seccomp| Host {
            namespaces: Namespaces::Bubblewrap("/usr/bin/bwrap".into()),
            ..host(landlock, seccomp)
        };
        assert_eq!(
            level(&in_namespaces(None, true)),
            IsolationLevel::Namespaces
        );
        assert_eq!(
            level(&in_namespaces(Some(7), false)),
            IsolationLevel::Limits
        );
    }

    #[test]
    fn missing_features_of_a_host_are_listed_with_what_they_need() {
        let missing = host(Some(2), true).isolation(None, None, None).missing;
        for needed in ["Linux 6.12", "bubblewrap (`bwrap`): it is not installed"] {
            assert!(
                missing.iter().any(|line| line.contains(needed)),
                "{missing:?}"
            );
        }
    }
}
