//! The hosts of a server, for its operators and users.

use crate::Device;
use serde::{Deserialize, Serialize};

/// The hosts that run the jobs of a server, and its queue: `GET /api/v1/fleet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fleet {
    /// Why no host starts a job at present. Absent unless an operator has started maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<String>,
    /// Jobs whose code waits for approval.
    pub awaiting_approval: u64,
    /// Jobs that wait for a device.
    pub queued: u64,
    /// Jobs that run.
    pub running: u64,
    /// The hosts: this server, if it runs jobs itself, and those that have joined it, by name.
    pub hosts: Vec<FleetHost>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FleetHost {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: HostState,
    /// Why an operator drains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_reason: Option<String>,
    /// Time since its last report, seconds. Absent for this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_contact_s: Option<f64>,
    /// The version of Hipward on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version of PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The version of ROCm that PyTorch was built with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rocm: Option<String>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its devices.
    pub devices: Vec<FleetDevice>,
}

/// State of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// It starts jobs.
    Ready,
    /// An operator drains it: its running jobs end, and it starts no others.
    Draining,
    /// It has not reported for a minute.
    Silent,
}

/// A device of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FleetDevice {
    /// The device.
    #[serde(flatten)]
    pub device: Device,
    /// The job that runs on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<FleetJob>,
}

/// A job that runs on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FleetJob {
    /// Its id.
    pub id: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of its sender. Absent for the operator's own jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Time since its start, seconds.
    pub runs_s: f64,
}

/// The body of requests that drain a host or start maintenance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Why, for users; at most 200 characters.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    #[serde(default)]
    pub reason: String,
}
