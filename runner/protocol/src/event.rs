//! The event log of a job: what the runner stores, and what the browser is streamed.

use crate::{Device, Isolation, Stats, StopReason, Variant, Verdict};
use serde::{Deserialize, Serialize};

/// One line of a job's log. `seq` starts at 1 and has no gaps; it is the SSE `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the log.
    pub seq: u64,
    /// The try it belongs to; 0 before the first lease.
    pub attempt: u32,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. The tag is the SSE-independent field `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// Waits; `position` 0 is next.
    Queued {
        /// Jobs ahead of it.
        position: usize,
        /// Why it is queued again, after a restart of the runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Holds a device; everything before belongs to an earlier try.
    Leased {
        /// The device.
        device: Device,
    },
    /// The conditions, before anything is measured.
    Environment(Environment),
    /// A rung that cannot run here, with the reason.
    Unavailable {
        /// The rung.
        variant: Variant,
        /// Why, in a sentence.
        reason: String,
    },
    /// The precision gate for one rung, run before any timing.
    Precision {
        /// The rung.
        variant: Variant,
        /// False: the rung is not timed.
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
    /// What no rung can be faster than.
    Roofline(Roofline),
    /// Time that a rung took to compile and warm up, outside its timings.
    Compile {
        /// The rung.
        variant: Variant,
        /// Seconds.
        seconds: f64,
        /// Lower rungs that are part of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stands_on: Vec<Variant>,
    },
    /// A second figure of a rung: with warm caches.
    Hot {
        /// The rung.
        variant: Variant,
        /// The figure.
        hot: Hot,
    },
    /// Raw timings, in the order they were taken.
    Samples {
        /// The rung.
        variant: Variant,
        /// Round of the interleaving, from 0.
        round: u32,
        /// Milliseconds per call.
        ms: Vec<f64>,
    },
    /// A rung's sampling ended.
    VariantDone {
        /// The rung.
        variant: Variant,
        /// Its statistics, computed by the runner.
        stats: Stats,
    },
    /// Text that the snippet or its libraries wrote.
    Log {
        /// Where it was written.
        stream: LogStream,
        /// The text; invalid UTF-8 replaced.
        text: String,
    },
    /// What the measurements say.
    Verdict(Verdict),
    /// Final: all went well.
    Done,
    /// Final: it ended early.
    Failed {
        /// Stable code.
        code: FailureCode,
        /// What happened, in a sentence.
        message: String,
        /// What to do about it, in a sentence.
        help: String,
        /// The end of the Python traceback, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceback: Option<String>,
    },
    /// Final: it was cancelled.
    Cancelled,
}

impl EventBody {
    /// True for the last event of a log.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            EventBody::Done | EventBody::Failed { .. } | EventBody::Cancelled
        )
    }
}

/// The conditions of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// A setting of the host that costs time, and what mends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// A rung's time with warm caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Share of elements outside the tolerance, 0 to 1.
    pub mismatch: f64,
}

/// Which stream a text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Hipward itself: truncation, retries.
    Runner,
}

/// Why a job failed. Stable: clients may match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The code is not Python.
    SyntaxError,
    /// `Model`, `get_inputs` or `get_init_inputs` is missing or has the wrong form.
    ContractMissing,
    /// The snippet raised while being imported.
    ImportError,
    /// `__init__` raised.
    InitError,
    /// `forward` raised in eager mode.
    ForwardError,
    /// Eager itself gives NaN or infinity, so nothing can be compared with it.
    NotFinite,
    /// Over the wall-clock limit.
    Timeout,
    /// Over the memory limit.
    MemoryLimit,
    /// Over the process limit.
    ProcessLimit,
    /// The snippet replaced what it is measured with.
    Tampered,
    /// Over the output limit.
    OutputLimit,
    /// The process died by itself (signal, `os._exit`).
    Crashed,
    /// The runner stopped while the job ran, once too often.
    Interrupted,
    /// The isolation that the operator demands was not reached.
    Isolation,
    /// Something in Hipward or its Python environment.
    Internal,
}

/// A line of the harness with the job's secret on it. What writes to the pipe without knowing the
/// secret is told apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarnessMessage {
    /// [`HarnessJob::nonce`]; absent before there is a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// What it says.
    #[serde(flatten)]
    pub line: HarnessLine,
}

/// A line the harness writes on its private pipe; the runner turns each into events. Kept beside
/// the events because the two must agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HarnessLine {
    /// PyTorch is imported; a job may be sent.
    Ready,
    /// See [`EventBody::Environment`].
    Environment(Environment),
    /// See [`EventBody::Unavailable`].
    Unavailable {
        /// The rung.
        variant: Variant,
        /// Why.
        reason: String,
    },
    /// See [`EventBody::Precision`].
    Precision {
        /// The rung.
        variant: Variant,
        /// Whether it may be timed.
        passed: bool,
        /// Errors per output.
        outputs: Vec<OutputError>,
        /// Seeds compared.
        seeds: usize,
        /// Reference dtype.
        reference: String,
        /// Why not passed.
        #[serde(default)]
        reason: Option<String>,
    },
    /// See [`EventBody::Roofline`].
    Roofline(Roofline),
    /// See [`EventBody::Compile`].
    Compile {
        /// The rung.
        variant: Variant,
        /// Seconds.
        seconds: f64,
        /// Lower rungs that are part of it.
        #[serde(default)]
        stands_on: Vec<Variant>,
    },
    /// See [`EventBody::Hot`].
    Hot {
        /// The rung.
        variant: Variant,
        /// The figure.
        #[serde(flatten)]
        hot: Hot,
    },
    /// See [`EventBody::Samples`].
    Samples {
        /// The rung.
        variant: Variant,
        /// Round.
        round: u32,
        /// Milliseconds.
        ms: Vec<f64>,
    },
    /// Sampling of a rung ended; the runner answers with [`EventBody::VariantDone`].
    Sampled {
        /// The rung.
        variant: Variant,
        /// Which rule fired.
        stop: StopReason,
        /// Throttled samples that were dropped.
        #[serde(default)]
        dropped: usize,
    },
    /// The job cannot go on.
    Error {
        /// Stable code.
        code: FailureCode,
        /// What happened.
        message: String,
        /// What to do.
        help: String,
        /// End of the traceback.
        #[serde(default)]
        traceback: Option<String>,
    },
    /// All rungs ended.
    Finished,
}

/// The one line the runner writes to the harness's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarnessJob {
    /// The snippet.
    pub code: String,
    /// Rungs, in ladder order; always holds `eager`.
    pub variants: Vec<Variant>,
    /// PyTorch device.
    pub device: String,
    /// Longest sampling time per rung, seconds; stated in the conditions.
    pub time_cap_s: f64,
    /// A secret that every line about this job must carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_its_secret_beside_what_it_says() {
        let text = r#"{"type":"sampled","nonce":"5ec2e7","variant":"eager","stop":"converged","dropped":3}"#;
        let message: HarnessMessage = serde_json::from_str(text).expect("is a line");
        assert_eq!(message.nonce.as_deref(), Some("5ec2e7"));
        assert!(matches!(
            message.line,
            HarnessLine::Sampled { dropped: 3, .. }
        ));
    }

    #[test]
    fn lines_of_an_older_harness_are_still_read() {
        let read = |text| serde_json::from_str::<HarnessMessage>(text).expect("is a line");
        let old = read(r#"{"type":"compile","variant":"compile","seconds":2.5}"#);
        assert_eq!(old.nonce, None);
        assert!(matches!(old.line, HarnessLine::Compile { stands_on, .. } if stands_on.is_empty()));
        let old = read(
            r#"{"type":"environment","device_name":"a","arch":"b","torch":"2","python":"3","threads":1,
                "clock":"c","clock_overhead_ms":0.1,"cache":"warm","stop_rule":"d"}"#,
        );
        let HarnessLine::Environment(conditions) = old.line else {
            panic!("not the conditions: {old:?}")
        };
        assert_eq!((conditions.idle, conditions.audit), (None, Vec::new()));
    }

    #[test]
    fn the_second_figure_and_the_floor_are_read_as_the_harness_writes_them() {
        let hot = r#"{"type":"hot","variant":"compile","ms":[0.1,0.11],"calls":20,"wall_ms":0.12}"#;
        let line: HarnessLine = serde_json::from_str(hot).expect("is a line");
        assert!(matches!(
            line,
            HarnessLine::Hot {
                hot: Hot { calls: 20, .. },
                ..
            }
        ));
        let floor = r#"{"type":"roofline","bytes_read":128,"bytes_written":64,"flops":0,"copy_gbs":4275.0,
            "bandwidth_gbs":4800.0,"bandwidth_from":"the data sheet","peak_from":"no matrix product",
            "floor_ms":0.00004,"bound":"memory"}"#;
        let line: HarnessLine = serde_json::from_str(floor).expect("is a line");
        assert!(matches!(
            line,
            HarnessLine::Roofline(Roofline {
                peak_tflops: None,
                ..
            })
        ));
    }
}
