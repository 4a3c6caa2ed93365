//! The fence around a snippet: what this host can enforce, and the level that amounts to.
//!
//! The server never touches a snippet's process itself. It starts one supervisor per worker (this
//! same binary, `hipward sandbox-exec`), hands it a [`Plan`], and hears back how it ended. What a
//! plan promises is applied between fork and exec; if any of it fails the process does not start,
//! so the level that a result states is never a guess.
//!
//! Deliberately absent: containers and namespaces. They need privileges or helpers that a fresh
//! host does not have; an operator who has them runs the whole of Hipward inside.

mod child;
mod control;
mod footprint;
mod held;
mod identity;
mod landlock;
mod limits;
mod orphans;
mod plan;
mod process_calls;
mod process_tree;
mod seccomp;
mod spawn;
mod supervisor;
mod sys;

pub(crate) use control::{Ending, Limit, Report};
pub(crate) use footprint::remove_folder;
pub(crate) use identity::{Identity, Reserved};
pub(crate) use limits::Limits;
pub(crate) use plan::{FileRules, Plan};
pub(crate) use process_tree::{is_stopped, kill_tree};
pub(crate) use spawn::{Sandboxed, spawn};
pub(crate) use supervisor::supervise;

use hipward_protocol::{Isolation, IsolationLevel};
use std::path::Path;

/// What each version of Landlock adds for us.
const LANDLOCK_ADDS: &[(u32, &str)] = &[
    (
        1,
        "a fence around files: a snippet can read those of this host; needs Linux 5.13 with \
         `landlock` in the kernel's `lsm=` list",
    ),
    (
        5,
        "a fence around what devices can be told to do; needs Linux 6.10",
    ),
    (
        6,
        "a fence around signals to other processes of this user; needs Linux 6.12",
    ),
];

/// What the kernel and our privileges allow here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Landlock's ABI version.
    pub(crate) landlock_abi: Option<u32>,
    /// Whether seccomp filters can be installed.
    pub(crate) seccomp: bool,
    /// Whether we are root, and so can give each worker a user of its own.
    pub(crate) root: bool,
}

impl Host {
    /// Asks the kernel. Of Landlock it takes no newer version than `newest_landlock`, so that tests see what an older
    /// kernel would do.
    pub(crate) fn detect(newest_landlock: Option<u32>) -> Self {
        let newest = newest_landlock.unwrap_or(u32::MAX);
        let landlock_abi = sys::landlock_abi().map(|abi| abi.min(newest));
        Host {
            landlock_abi: landlock_abi.filter(|&abi| abi > 0),
            seccomp: seccomp::is_available(),
            root: nix::unistd::geteuid().is_root(),
        }
    }

    /// The level that every worker of this host gets, mechanism by mechanism. `closed`: the folder for which workers
    /// read past permissions.
    pub(crate) fn isolation(self, identity: Option<&Identity>, closed: Option<&Path>) -> Isolation {
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
                "a fence around system calls; needs a kernel with seccomp filters".to_owned(),
            );
        }
        if let Some(abi) = self.landlock_abi {
            mechanisms.push(format!("Landlock ABI {abi}"));
        }
        let absent = LANDLOCK_ADDS
            .iter()
            .filter(|(since, _)| self.landlock_abi < Some(*since));
        missing.extend(absent.map(|(_, what)| (*what).to_owned()));
        if let Some(closed) = closed {
            missing.push(format!(
                "file permissions: jobs read root's files too, in the folders that Landlock opens (such as /usr and \
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
        };
        host.isolation(None, None).level
    }

    #[test]
    fn a_level_needs_every_level_below_it() {
        assert_eq!(level(None, false), IsolationLevel::Limits);
        assert_eq!(level(Some(7), false), IsolationLevel::Limits);
        assert_eq!(level(None, true), IsolationLevel::Syscalls);
        assert_eq!(level(Some(2), true), IsolationLevel::Files);
    }

    #[test]
    fn an_old_kernel_says_what_it_lacks() {
        let bookworm = Host {
            landlock_abi: Some(2),
            seccomp: true,
            root: false,
        };
        let missing = bookworm.isolation(None, None).missing;
        assert!(
            missing.iter().any(|line| line.contains("6.12")),
            "{missing:?}"
        );
    }
}
