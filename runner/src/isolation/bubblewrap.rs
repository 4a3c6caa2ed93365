//! bubblewrap (`bwrap`) puts a worker into namespaces of its own: it sees its own processes, no network, and of the files only those that
//! it needs. Landlock forbids mounts, so bubblewrap comes first and starts this binary once more (`stage.rs`), which applies
//! the other restrictions and becomes the worker.
//!
//! A server that is root needs no user namespace, so its workers keep their users. Without root, bubblewrap creates a user
//! namespace, in which the worker has the server's user.

use super::sandbox_spec::SandboxSpec;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek},
    os::{
        fd::{AsFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The processes of bubblewrap that remain: one outside of the namespaces, and the first process inside.
pub(super) const PROCESSES: usize = 2;
/// bubblewrap reports the end by signal N as this number plus N, as shells do.
pub(super) const SIGNALLED: i32 = 128;

/// The socket of [`super::stage`], which gets the spec and reports errors.
pub(super) const STAGE_FD: RawFd = 60;
/// This binary, which need not be in a folder that the worker sees.
const BINARY_FD: RawFd = 61;
/// The worker's standard error. bubblewrap's own messages go elsewhere.
pub(super) const STDERR_FD: RawFd = 62;
/// Numbers above all of these.
const LIFTED: RawFd = 64;

const SHARED_MEMORY: &str = "/dev/shm";
/// Longest chain of links that the kernel follows.
const MAX_LINKS: usize = 40;

/// Whether workers get namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces {
    /// From this program.
    Bubblewrap(PathBuf),
    /// They get none, for this reason.
    None(String),
}

impl Namespaces {
    /// Searches for bubblewrap. Only a trial shows whether it works: kernels, containers and AppArmor can forbid namespaces.
    pub(super) fn detect(is_permitted: bool) -> Self {
        if !is_permitted {
            return Namespaces::None("it was switched off".to_owned());
        }
        let folders = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("bwrap"))
            .find(|program| program.is_file());
        found.map_or_else(
            || Namespaces::None("it is not installed".to_owned()),
            Namespaces::Bubblewrap,
        )
    }

    /// The program, if there is one.
    pub(crate) fn program(&self) -> Option<&Path> {
        match self {
            Namespaces::Bubblewrap(program) => Some(program),
            Namespaces::None(_) => None,
        }
    }
}

/// What the stage and the supervisor share.
pub(super) struct Channels {
    /// The supervisor's end of the stage's socket.
    pub(super) stage: UnixStream,
    messages: File,
}

impl Channels {
    /// bubblewrap's messages so far.
    pub(super) fn messages(&mut self) -> String {
        let mut text = String::new();
        let read = self
            .messages
            .rewind()
            .and_then(|()| self.messages.read_to_string(&mut text));
        match read {
            Ok(_) => text.trim().to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

/// Descriptors, and the numbers under which the stage gets them.
pub(super) type Passed = [(OwnedFd, RawFd); 3];

/// The command that starts the stage in its namespaces, and the descriptors that it gets under their numbers.
pub(super) fn command(
    program: &Path,
    spec: &SandboxSpec,
) -> io::Result<(Command, Channels, Passed)> {
    let (stage, stage_end) = UnixStream::pair()?;
    let messages = memfd_create("bubblewrap", MFdFlags::MFD_CLOEXEC)?;
    let binary = OwnedFd::from(File::open("/proc/self/exe")?);
    let passed = [
        (lifted(stage_end)?, STAGE_FD),
        (lifted(&binary)?, BINARY_FD),
        (lifted(io::stderr())?, STDERR_FD),
    ];
    let mut command = Command::new(program);
    command
        .args(arguments(spec))
        .env_clear()
        .stderr(messages.try_clone()?);
    let channels = Channels {
        stage,
        messages: messages.into(),
    };
    Ok((command, channels, passed))
}

/// A copy with a number above those that are passed on, so that placing one descriptor cannot overwrite another.
fn lifted(descriptor: impl AsFd) -> io::Result<OwnedFd> {
    super::syscalls::duplicate_above(descriptor.as_fd(), LIFTED)
}

fn arguments(spec: &SandboxSpec) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "--die-with-parent",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
    ]
    .map(OsString::from)
    .into();
    let files = spec.files.clone().unwrap_or_default();
    let read = mounted(&spec.program, &files.read).into_iter();
    // A device that is mounted like other files cannot be opened.
    let is_device = |path: &Path| path.starts_with("/dev");
    let read = read.map(|path| match is_device(&path) {
        true => ("--dev-bind-try", path),
        false => ("--ro-bind-try", path),
    });
    // The host's shared memory, because its files are counted and removed there.
    let shared = spec.gpu.then(|| PathBuf::from(SHARED_MEMORY));
    let devices = files.devices.into_iter().chain(shared);
    let devices = devices.map(|path| ("--dev-bind-try", path));
    let mut mounts: Vec<(&str, PathBuf)> = read.chain(devices).collect();
    mounts.push(("--bind", spec.directory.clone()));
    // Otherwise bubblewrap creates the folders around a mount for its own user only, which is root if the server is.
    for parent in mounts.iter().filter_map(|(_, path)| path.parent()) {
        arguments.extend(["--dir".into(), parent.into()]);
    }
    for (how, path) in mounts {
        arguments.extend([how.into(), path.clone().into(), path.into()]);
    }
    let rest = ["--proc", "/proc", "--remount-ro", "/", "--chdir"];
    arguments.extend(rest.map(OsString::from));
    arguments.push(spec.directory.clone().into());
    arguments.push(format!("/proc/self/fd/{BINARY_FD}").into());
    arguments.push("sandbox-stage".into());
    arguments
}

/// The files and folders to mount for these: links are mounted as what they lead to, and what they lead to is mounted at its own path
/// too. Those inside of another one are left out, and those in /proc, which is the worker's own.
fn mounted(program: &Path, read: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = read.to_vec();
    paths.extend(read.iter().filter_map(|path| fs::canonicalize(path).ok()));
    // A virtual environment's Python is a link to another Python, which may be a link as well.
    let mut link = program.to_owned();
    for _ in 0..MAX_LINKS {
        paths.push(link.clone());
        let Ok(target) = fs::read_link(&link) else {
            break;
        };
        let target = link.parent().unwrap_or(Path::new("/")).join(target);
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            break;
        };
        link = fs::canonicalize(folder).map_or(target.clone(), |folder| folder.join(name));
    }
    paths.retain(|path| !path.starts_with("/proc"));
    paths.sort();
    paths.dedup();
    // Sorted by components, so a folder comes before what is in it.
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !outermost
            .last()
            .is_some_and(|outer| path.starts_with(outer))
        {
            outermost.push(path);
        }
    }
    outermost
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_to_python_are_mounted_and_inner_folders_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for path in ["real/bin", "real/lib", "venv/bin", "alias"] {
            fs::create_dir_all(at(path)).expect("a folder");
        }
        fs::write(at("real/bin/python3.11"), "").expect("a file");
        symlink("python3.11", at("real/bin/python3")).expect("a link");
        symlink("../real/bin/python3", at("alias/python")).expect("a link");
        symlink(at("alias/python"), at("venv/bin/python")).expect("a link");
        symlink("real", at("current")).expect("a link");
        let read = [
            at("venv"),
            at("current"),
            at("real/lib"),
            "/proc/cpuinfo".into(),
        ];
        let mounted = mounted(&at("venv/bin/python"), &read);
        assert_eq!(mounted, ["alias/python", "current", "real", "venv"].map(at));
    }
}
