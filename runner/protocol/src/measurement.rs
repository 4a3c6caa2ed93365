//! Measurements of the harness as they are stored in the event log: one set of types for the
//! line on the pipe and for the event. `hipward_kernels/harness/lines.py` writes the lines.

use crate::{Isolation, Variant, VariantId};
use serde::{Deserialize, Serialize};

/// A line of the harness that becomes an event unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Measurement {
    /// The conditions of the measurement. Precedes all other measurements.
    Environment(Environment),
    /// The variants of this job. Precedes all lines about one of them.
    #[serde(alias = "rungs")]
    Variants {
        /// In ladder order.
        #[serde(alias = "rungs")]
        variants: Vec<Variant>,
    },
    /// A step of the job has started. It lasts until the next one starts or the job ends.
    Step {
        /// The step.
        step: Step,
        /// The variant that it is about. None for a step of the whole job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variant: Option<VariantId>,
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
    /// The shortest possible time.
    Roofline(Roofline),
    /// Time to compile and warm up a variant, which its timings exclude.
    Compile {
        /// The variant.
        variant: VariantId,
        /// Seconds.
        seconds: f64,
        /// Lower variants that are part of it.
        #[serde(default, alias = "stands_on", skip_serializing_if = "Vec::is_empty")]
        based_on: Vec<VariantId>,
        /// A description of what each included step did.
        #[serde(default, alias = "holds", skip_serializing_if = "Vec::is_empty")]
        includes: Vec<String>,
    },
    /// A limitation of the measurement that a reader must know.
    #[serde(alias = "caution")]
    Warning {
        /// A sentence or two.
        text: String,
    },
    /// The time of a variant with warm caches.
    Hot {
        /// The variant.
        variant: VariantId,
        /// The time.
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

/// A step of a job. `Compile` to `StepCost` are repeated for each variant, in ladder order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The snippet is imported.
    Load,
    /// `Model` is built and run for the first time, and the reference results are computed.
    Reference,
    /// The bandwidth of a copy and the work of `Model` are measured for the roofline.
    Roofline,
    /// A variant is built, compiled and called once.
    Compile,
    /// A variant is compared with the reference.
    Precision,
    /// A variant is called until its one-time work is done.
    WarmUp,
    /// A step of the ladder is compared with the variant without it.
    StepCost,
    /// The results for other inputs are compared, to find results that do not depend on the inputs.
    InputDependence,
    /// All variants are timed in turn.
    Timing,
    /// A variant is timed with warm caches.
    WarmCaches,
    /// `Model` is timed where no code of `ModelNew` has run.
    ModelAlone,
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
    /// Triton's version, if it is installed.
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
    /// Overhead of the clock: the median of empty timings, milliseconds.
    pub clock_overhead_ms: f64,
    /// Cache state between calls: `warm` or `cold (576 MiB flushed)`.
    pub cache: String,
    /// Description of the stop rule.
    pub stop_rule: String,
    /// Environment variables that are set and affect the result.
    #[serde(default)]
    pub variables: Vec<(String, String)>,
    /// How samples of a throttled device are detected, or why they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<String>,
    /// The sensors of the idle device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Settings of the host that reduce performance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<Advice>,
    /// Filled in by the runner: time limit of the job, seconds, counted from the event `leased`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Filled in by the runner: the load of the host before the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// Filled in by the runner: the isolation of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Filled in by the runner: SHA-256 of the code.
    #[serde(default)]
    pub code_sha256: String,
    /// Filled in by the runner: Hipward's version.
    #[serde(default)]
    pub hipward: String,
}

/// The sensors of the idle device. Values that they do not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Idle {
    /// `NVML`, `sysfs` or `AMD SMI`.
    pub source: Option<String>,
    /// Why no source could be read.
    pub unreadable: Option<String>,
    /// Clock of the compute units, MHz.
    pub sm_mhz: Option<u32>,
    /// Its maximum, MHz.
    pub max_sm_mhz: Option<u32>,
    /// Clock of the memory, MHz.
    pub memory_mhz: Option<u32>,
    /// Highest temperature of all sensors, °C.
    pub temperature_c: Option<f64>,
    /// Power, watts.
    pub power_w: Option<f64>,
    /// Utilization, percent.
    pub busy_percent: Option<f64>,
    /// Processes, other than the job's, that use the device.
    pub other_processes: Option<u32>,
    /// Partitioning of the device: `SPX/NPS1`, `MIG`.
    pub partition: Option<String>,
}

/// Load of the host's CPUs, measured by the runner outside the job. Values that the system does not report are
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

/// A setting of the host that reduces performance, and how to change it.
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

/// The shortest time in which the device can do the work of `Model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Roofline {
    /// Inputs and parameters that are read, each byte once.
    pub bytes_read: u64,
    /// Outputs, each byte once.
    pub bytes_written: u64,
    /// Floating-point operations of matrix products, convolutions and attention.
    pub flops: u64,
    /// Bandwidth of a copy, 10⁹ bytes read and written per second.
    pub copy_gbs: f64,
    /// Bandwidth used for the floor, 10⁹ bytes per second.
    pub bandwidth_gbs: f64,
    /// Source of the bandwidth: `the data sheet`, or how it was measured.
    #[serde(alias = "bandwidth_from")]
    pub bandwidth_source: String,
    /// Peak throughput, 10¹² operations per second, if the work has floating-point operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_tflops: Option<f64>,
    /// Source of the peak.
    #[serde(alias = "peak_from")]
    pub peak_source: String,
    /// The shortest time, milliseconds.
    pub floor_ms: f64,
    /// `memory` or `compute`: which of the two determines the floor.
    pub bound: String,
}

/// A variant's time with warm caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hot {
    /// Milliseconds per call, one value for each batch.
    pub ms: Vec<f64>,
    /// Calls of a batch.
    pub calls: u32,
    /// Milliseconds per call on the host's clock.
    pub wall_ms: f64,
}

/// The error of one output tensor against the reference.
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
    /// Share of elements whose error is above the tolerance, 0 to 1. For integers, of elements that differ.
    pub mismatch: f64,
    /// The error relative to the limit of the precision gate: above 1 it does not pass. Absent for integers, and in
    /// jobs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_used: Option<f64>,
}
