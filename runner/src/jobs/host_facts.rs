//! What jobs can require of a host besides a device, and the comparison of a host with the requirements of a job.

use hipward_protocol::{Device, Requirements, Vendor};
use serde::{Deserialize, Serialize};
use std::fs;
use utoipa::ToSchema;

/// What jobs can require of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct HostFacts {
    /// PyTorch's version string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) torch: Option<String>,
    /// The version of the HIP runtime that PyTorch was built with, which begins with ROCm's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rocm: Option<String>,
    /// The number of GPUs.
    #[serde(default)]
    pub(crate) gpus: usize,
    /// The labels that its operator has chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) labels: Vec<String>,
}

/// Whether a text can be a label. None of its characters has a meaning in a pattern of SQL.
pub(crate) fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    (1..=32).contains(&text.len()) && text.chars().all(is_plain)
}

/// The released part of a version with a final dot, so that `2.9.` is the beginning of `2.9.1.` and not of `2.90.`.
pub(super) fn version_with_dot(version: &str) -> String {
    let released = version.split(['+', '-']).next().unwrap_or_default();
    format!("{}.", released.to_ascii_lowercase())
}

/// Whether a device of a host meets the requirements. `Store::claim` has the same rule as SQL.
pub(crate) fn meets(required: &Requirements, device: &Device, facts: &HostFacts) -> bool {
    let is_version = |required: &Option<String>, found: &Option<String>| match (required, found) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(required), Some(found)) => {
            version_with_dot(found).starts_with(&version_with_dot(required))
        }
    };
    required.vendor.is_none_or(|vendor| vendor == device.vendor)
        && required
            .arch
            .as_ref()
            .is_none_or(|arch| *arch == device.arch)
        && is_version(&required.torch, &facts.torch)
        && is_version(&required.rocm, &facts.rocm)
        && required
            .memory_bytes
            .is_none_or(|least| device.memory_bytes >= least)
        && required
            .gpus
            .is_none_or(|least| facts.gpus >= least as usize)
        && required
            .labels
            .iter()
            .all(|label| facts.labels.contains(label))
}

/// The requirements as `hipward bench --require` accepts them: `vendor=amd,arch=gfx942`.
pub(crate) fn describe(required: &Requirements) -> String {
    let mut parts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name}={value}")));
    };
    add(
        "vendor",
        required.vendor.map(|vendor| vendor_name(vendor).to_owned()),
    );
    add("arch", required.arch.clone());
    add("rocm", required.rocm.clone());
    add("torch", required.torch.clone());
    add("memory", required.memory_bytes.map(size));
    add("gpus", required.gpus.map(|gpus| gpus.to_string()));
    for label in &required.labels {
        add("label", Some(label.clone()));
    }
    parts.join(",")
}

/// `64GiB`, or bytes if the size is not a whole number of GiB.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        bytes => bytes.to_string(),
    }
}

/// The name of a device class, as the API has it.
pub(super) fn vendor_name(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Amd => "amd",
        Vendor::Nvidia => "nvidia",
        Vendor::Cpu => "cpu",
    }
}

/// The name of this server among those that share a database: of the machine, and of the process.
pub(crate) fn server_name() -> String {
    format!("{} {}", machine_name(), std::process::id())
}

/// The name of this machine, in the letters that a host's name may have.
pub(crate) fn machine_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name
        .trim()
        .chars()
        .take(64)
        .map(|c| match c {
            '-' | '_' | '.' => c,
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        })
        .collect();
    match name.is_empty() {
        true => "worker".to_owned(),
        false => name,
    }
}
