//! The users of workers when the server is root. Without root, workers run as the server's user,
//! restricted by the other mechanisms.

use super::{sandbox_spec::gpu_nodes, syscalls};
use crate::procfs;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

/// The range of systemd's dynamic users, which exist only while a process runs.
const FIRST_UID: u32 = 61_184;
const LAST_UID: u32 = 65_519;
/// The folder of the locks. Only root can open it, so no job can take a lock.
const LOCKS: &str = "/run/hipward/users";

/// A user id that no account, no process and no other Hipward server of this host uses, reserved while this value exists.
#[derive(Debug)]
pub(crate) struct ReservedUid {
    uid: u32,
    /// Locked by one process at a time. The system releases it when the process ends for any reason.
    _lock: File,
}

impl ReservedUid {
    /// Reserves up to `count` user ids.
    pub(crate) fn reserve(count: usize) -> io::Result<Vec<ReservedUid>> {
        Self::reserve_in(Path::new(LOCKS), count)
    }

    fn reserve_in(locks: &Path, count: usize) -> io::Result<Vec<ReservedUid>> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(locks)?;
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named: HashSet<u32> = accounts
            .lines()
            .filter_map(|line| line.split(':').nth(2)?.parse().ok())
            .collect();
        let running: HashSet<u32> = procfs::processes().filter_map(procfs::owner).collect();
        let mut reserved = Vec::with_capacity(count);
        for uid in FIRST_UID..=LAST_UID {
            if reserved.len() == count {
                break;
            }
            if named.contains(&uid) || running.contains(&uid) {
                continue;
            }
            let lock = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(false)
                .mode(0o600)
                .open(locks.join(uid.to_string()))?;
            if lock.try_lock().is_ok() {
                reserved.push(ReservedUid { uid, _lock: lock });
            }
        }
        Ok(reserved)
    }

    /// The user with this id. `gpu`: with the groups that may use GPUs.
    pub(crate) fn identity(&self, gpu: bool) -> Identity {
        Identity {
            uid: self.uid,
            groups: if gpu { gpu_groups() } else { Vec::new() },
        }
    }
}

/// The user of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// User and group id.
    pub(crate) uid: u32,
    /// Groups that own the GPU's device files.
    pub(crate) groups: Vec<u32>,
}

impl Identity {
    /// Changes this process to this user, irreversibly. `bypass_permissions` keeps one capability, to read files regardless of their permissions
    /// are. It is for a Python in a folder that only root may read, and only with Landlock, which restricts the readable folders.
    pub(super) fn drop_privileges(&self, bypass_permissions: bool) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.uid));
        let groups: Vec<Gid> = self.groups.iter().map(|&raw| Gid::from_raw(raw)).collect();
        syscalls::drop_bounding_set(bypass_permissions)?;
        setgroups(&groups)?;
        setresgid(gid, gid, gid)?;
        if bypass_permissions {
            syscalls::keep_capabilities_across_setuid()?;
        }
        // Without that, the kernel clears every capability in use here.
        setresuid(uid, uid, uid)?;
        // bubblewrap makes capabilities inheritable, which a change of the user does not clear.
        syscalls::drop_capabilities(bypass_permissions)
    }
}

fn gpu_groups() -> Vec<u32> {
    let mut nodes = gpu_nodes();
    let render = fs::read_dir("/dev/dri").into_iter().flatten().flatten();
    nodes.extend(render.map(|entry| entry.path()));
    let mut groups: Vec<u32> = nodes
        .iter()
        .filter_map(|node| fs::metadata(node).ok())
        .map(|metadata| metadata.gid())
        .filter(|&gid| gid != 0)
        .collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_uids_are_distinct() {
        let locks = tempfile::tempdir().expect("a folder");
        let reserve = || ReservedUid::reserve_in(locks.path(), 3).expect("a writable folder");
        let (first, second) = (reserve(), reserve());
        let mut uids: Vec<u32> = first.iter().chain(&second).map(|user| user.uid).collect();
        uids.sort_unstable();
        uids.dedup();
        assert_eq!(uids.len(), 6);
    }
}
