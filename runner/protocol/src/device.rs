//! The devices and capabilities of a runner, and the isolation of its jobs.

use crate::Variant;
use serde::{Deserialize, Serialize};

/// Vendor of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// An AMD GPU, driven through HIP.
    Amd,
    /// An NVIDIA GPU, driven through CUDA.
    Nvidia,
    /// The host's processor.
    Cpu,
}

/// A device that runs jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Device {
    /// PyTorch's name: `cpu`, `cuda:0`, … (ROCm devices are `cuda:N` too).
    pub id: String,
    /// Marketing name: `AMD Instinct MI300X`.
    pub name: String,
    /// Its vendor.
    pub vendor: Vendor,
    /// `gfx942`, `sm_90`, `x86_64`.
    pub arch: String,
    /// Device memory in bytes; the host's memory for a CPU.
    pub memory_bytes: u64,
    /// Present while a job runs on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_job: Option<String>,
}

/// Isolation level of a snippet's process, weakest first. A level includes
/// all lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IsolationLevel {
    /// Own process group, clean environment, private directory, resource limits, killed by a supervisor.
    Limits,
    /// Also seccomp: no network sockets, tracing, mounts or namespaces.
    Syscalls,
    /// Also files, with Landlock or namespaces: those outside the private directory are read-only or invisible.
    Files,
    /// Also namespaces, from bubblewrap: own processes, own network without interfaces, and no files but those that it needs.
    Namespaces,
}

/// The isolation of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Isolation {
    /// The level.
    pub level: IsolationLevel,
    /// The active mechanisms: `Landlock ABI 7`, `seccomp filter`, `uid 61184`.
    pub mechanisms: Vec<String>,
    /// What this host lacks for a stronger isolation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Something the runner lacks, and how to install it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Missing {
    /// `PyTorch`.
    pub what: String,
    /// One sentence on what does not work without it.
    pub consequence: String,
    /// The command to run.
    pub fix: String,
}

/// `GET /api/v1/capabilities`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capabilities {
    /// Hipward's version.
    pub version: String,
    /// True when a job can be run at all.
    pub ready: bool,
    /// Devices, fastest kind first.
    pub devices: Vec<Device>,
    /// Number of queued jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_length: Option<u64>,
    /// PyTorch's version string, if there is a PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The compiler for HIP sources, such as `clang 22.1.8`, if the host has one with an AMD GPU target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hip_compiler: Option<String>,
    /// The variants of this runner's harness, in ladder order.
    #[serde(default)]
    pub variants: Vec<Variant>,
    /// The isolation of its jobs.
    pub isolation: Isolation,
    /// Time limit of a job, seconds.
    pub wall_limit_s: u64,
    /// Memory limit of a job, bytes.
    pub memory_limit_bytes: u64,
    /// Maximum size of a snippet, bytes.
    pub code_limit_bytes: u64,
    /// What is missing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}
