//! Files of a GPU worker in shared memory: how much they take, and their removal. A user of its own identifies them. Without one,
//! they are the files that its processes had open or mapped at a check and that did not exist before it; a file that is closed
//! between two checks is missed.

use super::{process_tree::Interrupted, sandbox_spec::SandboxSpec};
use nix::unistd::Pid;
use std::{
    collections::HashSet,
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

const FOLDER: &str = "/dev/shm";

/// The files of one worker.
#[derive(Debug)]
pub(super) struct SharedMemory {
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    /// The worker cannot write there.
    None,
    /// All files of this user.
    User(u32),
    /// Files that are used and new.
    Used {
        existing: HashSet<OsString>,
        used: HashSet<OsString>,
    },
}

impl SharedMemory {
    /// Call it before the worker starts.
    pub(super) fn new(spec: &SandboxSpec) -> Self {
        let owner = match &spec.identity {
            _ if !spec.gpu => Owner::None,
            Some(identity) => Owner::User(identity.uid),
            None => Owner::Used {
                existing: names(),
                used: HashSet::new(),
            },
        };
        SharedMemory { owner }
    }

    /// Records the files that these processes use. Calls `proceed` before each process.
    pub(super) fn observe(
        &mut self,
        processes: &[Pid],
        mut proceed: impl FnMut() -> Result<(), Interrupted>,
    ) -> Result<(), Interrupted> {
        let Owner::Used { existing, used } = &mut self.owner else {
            return Ok(());
        };
        for process in processes {
            proceed()?;
            let open = fs::read_dir(format!("/proc/{process}/fd"));
            let open = open.into_iter().flatten().flatten();
            let open = open.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
            let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
            let mapped = maps.lines().filter_map(|line| {
                let path = line.find(FOLDER).map(|at| &line[at..]);
                path.map(PathBuf::from)
            });
            let names = open.chain(mapped).filter_map(|path| name(&path));
            used.extend(names.filter(|name| !existing.contains(name)));
        }
        Ok(())
    }

    /// Their size, bytes.
    pub(super) fn bytes(&self) -> u64 {
        let files = self.files();
        let metadata = files.iter().filter_map(|file| file.symlink_metadata().ok());
        metadata.map(|metadata| metadata.blocks() * 512).sum()
    }

    /// Removes them. Call it when no process of the worker is left.
    pub(super) fn remove(&self) {
        for file in self.files() {
            let _ = fs::remove_file(file);
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let path = |name: &OsString| Path::new(FOLDER).join(name);
        match &self.owner {
            Owner::None => Vec::new(),
            Owner::Used { used, .. } => used.iter().map(path).collect(),
            Owner::User(uid) => {
                let is_theirs = |file: &PathBuf| {
                    let metadata = file.symlink_metadata();
                    metadata.is_ok_and(|metadata| metadata.uid() == *uid)
                };
                names().iter().map(path).filter(is_theirs).collect()
            }
        }
    }
}

/// The names of all files in shared memory.
fn names() -> HashSet<OsString> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// The name of a file directly in shared memory. None for other files, and for removed ones.
fn name(path: &Path) -> Option<OsString> {
    let is_direct = path.parent() == Some(Path::new(FOLDER));
    let name = path.file_name()?;
    (is_direct && !name.as_bytes().ends_with(b" (deleted)")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn new_files_of_a_process_are_counted_and_removed() {
        let file = |name: &str| {
            let name = format!("hipward-test-{}-{name}", std::process::id());
            let path = Path::new(FOLDER).join(name);
            let mut file = fs::File::create(&path).expect("is created");
            file.write_all(&[1; 1 << 16]).expect("is written");
            (path, file)
        };
        let (old, _open) = file("old");
        let mut memory = SharedMemory {
            owner: Owner::Used {
                existing: names(),
                used: HashSet::new(),
            },
        };
        let (new, _also_open) = file("new");
        assert!(memory.observe(&[Pid::this()], || Ok(())).is_ok());
        assert!(memory.bytes() >= 1 << 16);
        memory.remove();
        assert_eq!((old.exists(), new.exists()), (true, false));
        fs::remove_file(old).expect("is there");
    }
}
