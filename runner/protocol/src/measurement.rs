//! What a harness says about a measurement, as it goes into the event log: one set of types for the
//! line on the pipe and for the event. `hipward_kernels/harness/lines.py` writes them, field by field.

use crate::{Isolation, Variant, VariantId};
use serde::{Deserialize, Serialize};

/// A line that becomes an event as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Measurement {
    /// The conditions, before anything is measured.
    Environment(Environment),
    /// The variants of this job, before anything is said about one.
    Variants {
        /// In ladder order.
        variants: Vec<Variant>,
    },
    /// A variant that cannot run here, with the reason.
    Unavailable {
        /// The variant.
        variant: VariantId,
        /// Why, in a sentence.
        reason: String,
    },
    /// The precision gate for one variant, run before any timing.
    Precision {
        /// The variant.
        variant: VariantId,
        /// False: the variant is not timed.
        passed: bool,
        /// Every output tensor's errors, worst seed.
        outputs: Vec<OutputError>,
        /// Number of fresh seeds that were compared.
        seeds: usize,
        /// `float64` or `float32`: what the reference was computed in.
        reference: String,
        /// Why it did not pass, in a sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// What no variant can be faster than.
    Roofline(Roofline),
    /// Time that a variant took to compile and warm up, outside its timings.
    Compile {
        /// The variant.
        variant: VariantId,
        /// Seconds.
        seconds: f64,
        /// Lower variants that are part of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        based_on: Vec<VariantId>,
        /// What each step that is part of it did, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        includes: Vec<String>,
    },
    /// What a reader must know before believing the figures.
    Caution {
        /// A sentence or two.
        text: String,
    },
    /// A second figure of a variant: with warm caches.
    Hot {
        /// The variant.
        variant: VariantId,
        /// The figure.
        hot: Hot,
    },
    /// Raw timings, in the order they were taken.
    Samples {
        /// The variant.
        variant: VariantId,
        /// Round of the interleaving, from 0.
        round: u32,
        /// Milliseconds per call.
        ms: Vec<f64>,
    },
}

/// The conditions of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Environment {
    /// `NVIDIA H200`, `AMD Instinct MI300X`, or the processor's model name.
    pub device_name: String,
    /// `gfx942`, `sm_90`, `x86_64`.
    pub arch: String,
    /// PyTorch.
    pub torch: String,
    /// Triton, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triton: Option<String>,
    /// ROCm's HIP version, on a ROCm build of PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hip: Option<String>,
    /// CUDA version, on a CUDA build of PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Driver version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Python.
    pub python: String,
    /// Threads that PyTorch uses on the CPU.
    pub threads: u32,
    /// `device events` or `monotonic clock`.
    pub clock: String,
    /// Median of timing nothing, milliseconds.
    pub clock_overhead_ms: f64,
    /// Cache state between calls: `warm` or `cold (576 MiB flushed)`.
    pub cache: String,
    /// The stop rule in words.
    pub stop_rule: String,
    /// Environment variables that change the result and were set.
    #[serde(default)]
    pub variables: Vec<(String, String)>,
    /// How samples of a slowed device are told, or why they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<String>,
    /// The device before anything ran on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Settings of the host that cost time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Advice>,
    /// Filled in by the runner: how busy the host was before the job began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// Filled in by the runner: the isolation that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Filled in by the runner: SHA-256 of the code.
    #[serde(default)]
    pub code_sha256: String,
    /// Filled in by the runner: Hipward's version.
    #[serde(default)]
    pub hipward: String,
}

/// What a device's sensors said before anything ran. What they do not give is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Idle {
    /// `NVML`, `sysfs` or `AMD SMI`.
    pub source: Option<String>,
    /// Why there is no source.
    pub unreadable: Option<String>,
    /// Clock of the compute units.
    pub sm_mhz: Option<u32>,
    /// The highest that it can be.
    pub max_sm_mhz: Option<u32>,
    /// Clock of the memory.
    pub memory_mhz: Option<u32>,
    /// The hottest sensor.
    pub temperature_c: Option<f64>,
    /// Power.
    pub power_w: Option<f64>,
    /// Share of time that something ran, percent.
    pub busy_percent: Option<f64>,
    /// Processes, other than the job's, that hold the device.
    pub other_processes: Option<u32>,
    /// How the device is divided: `SPX/NPS1`, `MIG`.
    pub partition: Option<String>,
}

/// How busy the host's CPUs were, as the runner saw it from outside the job. What the system does not report is
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HostLoad {
    /// CPUs that the runner may use.
    pub cpus: u32,
    /// Load average of the last minute.
    pub load_average: Option<f64>,
    /// Share of the time in which some task waited for a CPU, 0 to 1 (`/proc/pressure/cpu`).
    pub cpu_pressure: Option<f64>,
    /// Share of the CPU time that processes other than the job's used, 0 to 1.
    pub other_cpu_share: Option<f64>,
    /// Processes other than the job's that used a tenth of a CPU or more.
    pub busy_processes: Option<u32>,
    /// Involuntary context switches of the job's threads.
    pub involuntary_switches: Option<u64>,
}

/// A setting of the host that costs time, and what mends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Advice {
    /// An environment variable or a file.
    pub setting: String,
    /// Its value.
    pub found: String,
    /// Why it matters.
    pub why: String,
    /// The command that sets it.
    pub command: String,
}

/// The shortest time that the work of `Model` can take on the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Roofline {
    /// Inputs and parameters that are read, each byte once.
    pub bytes_read: u64,
    /// Outputs, each byte once.
    pub bytes_written: u64,
    /// Floating-point operations of matrix products, convolutions and attention.
    pub flops: u64,
    /// What a copy reached, 10⁹ bytes read and written a second.
    pub copy_gbs: f64,
    /// What the floor is computed with.
    pub bandwidth_gbs: f64,
    /// Where that is from: `the data sheet`, or how it was measured.
    pub bandwidth_from: String,
    /// 10¹² operations a second, where the work has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_tflops: Option<f64>,
    /// Where that is from.
    pub peak_from: String,
    /// Milliseconds.
    pub floor_ms: f64,
    /// `memory` or `compute`: which of the two is the floor.
    pub bound: String,
}

/// A variant's time with warm caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hot {
    /// Milliseconds of a call, one figure a batch.
    pub ms: Vec<f64>,
    /// Calls of a batch.
    pub calls: u32,
    /// Milliseconds of a call on the host's clock.
    pub wall_ms: f64,
}

/// How far one output tensor is from the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutputError {
    /// Which output: `0`, `1`, or a dictionary key.
    pub name: String,
    /// Shape.
    pub shape: Vec<u64>,
    /// `float32`, `bfloat16`, …
    pub dtype: String,
    /// Cosine similarity with the reference.
    pub cosine: f64,
    /// Largest absolute error.
    pub max_abs: f64,
    /// Root mean square error.
    pub rms: f64,
    /// Eager's own largest absolute error against the same reference.
    pub eager_max_abs: f64,
    /// Eager's own root mean square error.
    pub eager_rms: f64,
    /// Share of elements whose error is above what the largest may be, 0 to 1; of integers, that differ.
    pub mismatch: f64,
    /// Share of the precision gate's limit that the errors take: above 1 it does not pass. None for integers, and in
    /// jobs from before the harness said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_used: Option<f64>,
}
