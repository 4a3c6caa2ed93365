//! Disk and memory that processes use without a file name: unlinked files, memory files, and the buffers of
//! sockets. They count like named files and process memory.

use super::{identity::Identity, process_tree::Interrupted};
use nix::unistd::{Gid, Pid, Uid, setfsgid, setfsuid};
use std::{
    collections::HashSet,
    fs::{self, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

/// Maximum size of a socket's buffer by the kernel's defaults. The seccomp filter prevents jobs from raising it.
const SOCKET_BYTES: u64 = 256 * 1024;

/// Usage in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnnamedUsage {
    /// Unlinked files on a disk.
    pub(super) disk: u64,
    /// Memory files, mapped or not.
    pub(super) shared_memory: u64,
    /// Upper bound of socket buffers.
    pub(super) sockets: u64,
}

/// The usage of these processes, with each file counted once. Files that may not be inspected are left out: without privileges,
/// those that are mapped and not open. Calls `proceed` before each process.
pub(super) fn unnamed_usage(
    processes: &[Pid],
    identity: Option<&Identity>,
    mut proceed: impl FnMut() -> Result<(), Interrupted>,
) -> Result<UnnamedUsage, Interrupted> {
    let _as_them = identity.map(FileUser::become_);
    let mut sum = Sum::default();
    for process in processes {
        proceed()?;
        let folder = format!("/proc/{process}");
        let open = fs::read_dir(format!("{folder}/fd")).into_iter().flatten();
        for descriptor in open.flatten() {
            sum.add(&descriptor.path());
        }
        let maps = fs::read_to_string(format!("{folder}/maps")).unwrap_or_default();
        for line in maps.lines().filter(|line| line.ends_with("(deleted)")) {
            if let Some((range, _)) = line.split_once(' ') {
                sum.add(Path::new(&format!(
                    "{folder}/map_files/{}",
                    unpadded(range)
                )));
            }
        }
    }
    Ok(sum.held)
}

/// Removes leading zeros. The kernel writes addresses with them in `maps`, and without them in the names of `map_files`.
fn unpadded(range: &str) -> String {
    let (from, to) = range.split_once('-').unwrap_or((range, ""));
    let significant = |address: &str| match address.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    format!("{}-{}", significant(from), significant(to))
}

#[derive(Default)]
struct Sum {
    held: UnnamedUsage,
    /// Device and inode of the files that were counted.
    seen: HashSet<(u64, u64)>,
}

impl Sum {
    fn add(&mut self, link: &Path) {
        let Ok(metadata) = fs::metadata(link) else {
            return;
        };
        let is_socket = metadata.file_type().is_socket();
        let is_nameless = metadata.is_file() && metadata.nlink() == 0;
        if !(is_socket || is_nameless) || !self.seen.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        let bytes = metadata.blocks() * 512;
        if is_socket {
            self.held.sockets += SOCKET_BYTES;
        } else if is_in_memory(link, &metadata) {
            self.held.shared_memory += bytes;
        } else {
            self.held.disk += bytes;
        }
    }
}

/// `memfd_create`, shared anonymous memory, System V's, or a file in /dev/shm.
fn is_in_memory(link: &Path, metadata: &Metadata) -> bool {
    let target = fs::read_link(link).unwrap_or_default();
    let target = target.to_string_lossy();
    let kinds = ["/memfd:", "/dev/zero (deleted)", "/SYSV"];
    kinds.iter().any(|kind| target.starts_with(kind))
        || fs::metadata("/dev/shm").is_ok_and(|shm| shm.dev() == metadata.dev())
}

/// While this value exists, this process accesses files as a job's user. A root without the capability to trace, as in
/// many containers, may not inspect other users' processes.
struct FileUser;

impl FileUser {
    fn become_(identity: &Identity) -> Self {
        setfsgid(Gid::from_raw(identity.uid));
        setfsuid(Uid::from_raw(identity.uid));
        FileUser
    }
}

impl Drop for FileUser {
    fn drop(&mut self) {
        setfsuid(Uid::effective());
        setfsgid(Gid::effective());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use std::{io::Write, os::unix::net::UnixStream};

    #[test]
    fn unlinked_files_and_sockets_are_counted_once() {
        let own = [Pid::this(), Pid::this()];
        let usage = || unnamed_usage(&own, None, || Ok(())).unwrap_or_default();
        let before = usage();
        let mut on_disk = tempfile::tempfile().expect("a file");
        on_disk.write_all(&vec![1; 3 << 20]).expect("is written");
        on_disk.sync_all().expect("is written");
        let _again = on_disk.try_clone().expect("is open twice");
        let memory = memfd_create("test", MFdFlags::empty()).expect("a file");
        let mut memory = fs::File::from(memory);
        memory.write_all(&vec![1; 2 << 20]).expect("is written");
        let _pair = UnixStream::pair().expect("sockets");
        let after = usage();
        // Other tests of this process open files too.
        assert!(
            after.disk >= before.disk + (3 << 20),
            "{before:?} {after:?}"
        );
        assert!(after.disk < before.disk + (6 << 20), "{before:?} {after:?}");
        assert!(
            after.shared_memory >= before.shared_memory + (2 << 20),
            "{before:?} {after:?}"
        );
        assert!(after.sockets >= before.sockets + 2 * SOCKET_BYTES);
    }

    #[test]
    fn leading_zeros_of_addresses_are_removed() {
        assert_eq!(unpadded("00400000-0040b000"), "400000-40b000");
        assert_eq!(unpadded("7f00a000-7f00b000"), "7f00a000-7f00b000");
    }
}
