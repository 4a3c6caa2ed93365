//! What a job requires of the host that runs it.

use crate::Vendor;
use serde::{Deserialize, Serialize};

/// Conditions on the host and the device of a job. A job waits until a host meets all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The class of the device. `cpu` means the processor, also on a host with GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Vendor>,
    /// The architecture of the device, such as `gfx942`.
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 64, pattern = "^[a-z0-9._-]+$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The version of ROCm that PyTorch was built with. `7.0` includes 7.0.2.
    #[cfg_attr(feature = "openapi", schema(max_length = 64, pattern = "^[a-z0-9.]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rocm: Option<String>,
    /// The version of PyTorch. `2.9` includes 2.9.1.
    #[cfg_attr(feature = "openapi", schema(max_length = 64, pattern = "^[a-z0-9.]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The least memory of the device, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The least number of GPUs of the host. A job itself sees one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Labels of the host, which its operator chooses with `--label`; at most 8.
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// The priority of a job in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// After all others.
    Low,
    /// The usual one.
    #[default]
    Normal,
    /// Before all others. Only operators may use it.
    High,
}

impl Requirements {
    /// Whether every host meets them.
    pub fn is_empty(&self) -> bool {
        *self == Requirements::default()
    }
}
