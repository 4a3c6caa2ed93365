//! What a supervisor runs, and in which sandbox. Data only.

use super::{CgroupSpec, Identity, Limits};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A process and its sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SandboxSpec {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Its whole environment; nothing is inherited.
    pub(crate) environment: Vec<(String, String)>,
    /// Its private directory: the working directory, and the only place it may write to.
    pub(crate) directory: PathBuf,
    /// Its limits.
    pub(crate) limits: Limits,
    /// Its cgroup, where cgroup v2 is delegated to the server.
    pub(crate) cgroup: Option<CgroupSpec>,
    /// The user it runs as, when the server is root.
    pub(crate) identity: Option<Identity>,
    /// The files that it may access, where Landlock or namespaces restrict them.
    pub(crate) files: Option<FileRules>,
    /// The version of Landlock whose rights are restricted, where the kernel has Landlock.
    pub(crate) landlock_abi: Option<u32>,
    /// The program that gives it namespaces of its own, if it gets any: bubblewrap.
    pub(crate) bubblewrap: Option<PathBuf>,
    /// Whether the seccomp filter is installed.
    pub(crate) seccomp: bool,
    /// Whether it may use a GPU, whose drivers need shared memory.
    pub(crate) gpu: bool,
}

/// Files that are accessible, besides the private directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileRules {
    /// Files and folders that are readable and executable.
    pub(crate) read: Vec<PathBuf>,
    /// Device files.
    pub(crate) devices: Vec<PathBuf>,
    /// Whether a worker reads these files regardless of their permissions. A part of these rules,
    /// so that it cannot be set without them.
    pub(crate) bypass_permissions: bool,
}

impl FileRules {
    /// The files that any Python process needs, and Python's own folders `python`. Paths that
    /// do not exist are skipped when the rules are applied.
    pub(crate) fn new(python: impl IntoIterator<Item = PathBuf>, gpu: bool) -> Self {
        let mut read: Vec<PathBuf> = SYSTEM_READ.iter().map(PathBuf::from).collect();
        read.extend(python);
        let mut devices: Vec<PathBuf> = SYSTEM_DEVICES.iter().map(PathBuf::from).collect();
        if gpu {
            devices.extend(gpu_nodes());
        }
        FileRules {
            read,
            devices,
            bypass_permissions: false,
        }
    }
}

/// Of /proc, the part that describes the machine. Folders of other processes are left out, because command
/// lines may contain secrets. `/etc/passwd` is left out too: the user's name and home are in the environment (`HOME`, `USER`,
/// `LOGNAME`), and a worker with a user of its own has no line in that file.
const SYSTEM_READ: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/os-release",
    "/proc/cgroups",
    "/proc/cpuinfo",
    "/proc/devices",
    "/proc/driver",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/proc/vmstat",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/sys/module",
    "/dev/random",
    "/dev/urandom",
];

const SYSTEM_DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// The device files through which GPUs are driven.
pub(crate) fn gpu_nodes() -> Vec<PathBuf> {
    let mut nodes = vec![PathBuf::from("/dev/kfd"), PathBuf::from("/dev/dri")];
    let nvidia = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    nodes.extend(
        nvidia
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("nvidia"))
            .map(|entry| entry.path()),
    );
    nodes.retain(|node| node.exists());
    nodes
}
