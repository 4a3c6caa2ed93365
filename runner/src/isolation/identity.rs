//! The user a worker becomes when the server is root. Without root there is nothing to become,
//! and the other fences have to do.

use super::{plan::gpu_nodes, sys};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fs, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::MetadataExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

/// Where systemd, too, takes users from that exist only while a process runs.
const FIRST_UID: u32 = 61_184;
const LAST_UID: u32 = 65_519;

/// A user id that no account, no process and no other Hipward of this host has, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Reserved {
    uid: u32,
    /// A name that one process at a time can have, and that the system takes back however it dies.
    _name: UnixDatagram,
}

impl Reserved {
    /// Reserves up to `count` of them.
    pub(crate) fn some(count: usize) -> Vec<Reserved> {
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named: HashSet<u32> = accounts
            .lines()
            .filter_map(|line| line.split(':').nth(2)?.parse().ok())
            .collect();
        let running: HashSet<u32> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .map(|metadata| metadata.uid())
            .collect();
        (FIRST_UID..=LAST_UID)
            .filter(|uid| !named.contains(uid) && !running.contains(uid))
            .filter_map(|uid| {
                let name = SocketAddr::from_abstract_name(format!("hipward-uid-{uid}")).ok()?;
                Some(Reserved {
                    uid,
                    _name: UnixDatagram::bind_addr(&name).ok()?,
                })
            })
            .take(count)
            .collect()
    }

    /// Its user, who may use GPUs or not.
    pub(crate) fn identity(&self, gpu: bool) -> Identity {
        Identity {
            uid: self.uid,
            groups: if gpu { gpu_groups() } else { Vec::new() },
        }
    }
}

/// A user that nobody else is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// User and group id.
    pub(crate) uid: u32,
    /// Groups that own the GPU's device files.
    pub(crate) groups: Vec<u32>,
}

impl Identity {
    /// Becomes this user, for good. `past_permissions`: one capability is kept, to read files whatever their permissions
    /// say. It is for a Python in a folder of root's, and only where Landlock says which folders can be read at all.
    pub(super) fn assume(&self, past_permissions: bool) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.uid));
        let groups: Vec<Gid> = self.groups.iter().map(|&raw| Gid::from_raw(raw)).collect();
        sys::drop_bounding_set(past_permissions)?;
        setgroups(&groups)?;
        setresgid(gid, gid, gid)?;
        if past_permissions {
            sys::keep_capabilities_of_a_user()?;
        }
        // Without that, the kernel clears every capability here.
        setresuid(uid, uid, uid)?;
        if past_permissions {
            sys::keep_only_reading()?;
        }
        Ok(())
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
    fn a_reserved_user_is_nobody_elses() {
        let (ours, theirs) = (Reserved::some(3), Reserved::some(3));
        let mut uids: Vec<u32> = ours.iter().chain(&theirs).map(|user| user.uid).collect();
        uids.sort_unstable();
        uids.dedup();
        assert_eq!(uids.len(), 6);
    }
}
