//! What a runner can run on, and how strongly it isolates what it runs.

use crate::Variant;
use serde::{Deserialize, Serialize};

/// Who makes the device.
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

/// One thing a job can be leased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Device {
    /// `cpu`, `cuda:0`, …; PyTorch's own name for it (ROCm devices are `cuda:N` too).
    pub id: String,
    /// Marketing name: `AMD Instinct MI300X`.
    pub name: String,
    /// Who makes it.
    pub vendor: Vendor,
    /// `gfx942`, `sm_90`, `x86_64`.
    pub arch: String,
    /// Device memory in bytes; the host's memory for a CPU.
    pub memory_bytes: u64,
    /// The job that holds it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_with: Option<String>,
}

/// How strongly a snippet's process is fenced in, weakest first. A level is reached only when
/// everything below it was reached too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IsolationLevel {
    /// Own process group, clean environment, private directory, resource limits, supervised kill.
    Limits,
    /// Also seccomp: no network sockets, no tracing, mounting, or namespace tricks.
    Syscalls,
    /// Also Landlock: files outside the private directory are read-only or invisible.
    Files,
}

/// The level that was reached, with each mechanism named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Isolation {
    /// The level that was reached.
    pub level: IsolationLevel,
    /// What is active, in words: `Landlock ABI 7`, `seccomp filter`, `uid 61184`.
    pub mechanisms: Vec<String>,
    /// What this host lacks for more, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Something the runner lacks, and the line that fixes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Missing {
    /// `PyTorch`.
    pub what: String,
    /// One sentence: what does not work without it.
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
    /// PyTorch's version string, if there is a PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The variants this runner's harness knows, in ladder order.
    #[serde(default)]
    pub variants: Vec<Variant>,
    /// The isolation its children get.
    pub isolation: Isolation,
    /// Longest a job may run, seconds.
    pub wall_limit_s: u64,
    /// Most memory a job may hold, bytes.
    pub memory_limit_bytes: u64,
    /// Largest accepted snippet, bytes.
    pub code_limit_bytes: u64,
    /// What is missing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}
