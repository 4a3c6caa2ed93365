//! The request and the answer of `POST /api/v1/emulate`, as the OpenAPI document describes them.
//!
//! The answer is the JSON of `hipward run` with what the reference printed and the seconds of the request.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A kernel and its launch.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmulateRequest {
    /// The language of the source.
    pub(super) language: KernelLanguage,
    /// The kernel; at most 256 KiB.
    #[schema(
        min_length = 1,
        pattern = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
    )]
    pub(super) source: String,
    /// The GPU architecture. Default: gfx942, or that of the assembly text.
    arch: Option<EmulatedArch>,
    /// The launch in TOML, as `hipward run --args` reads it: grid, workgroup and arguments; at most 256 KiB.
    #[schema(
        min_length = 1,
        pattern = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
        example = "grid = 1\nblock = 64\n[[argument]]\nname = \"x\"\ndtype = \"float32\"\nshape = [64]"
    )]
    pub(super) launch: String,
    /// A Python file with a function `reference`, as `hipward run --check` reads it; at most 256 KiB.
    pub(super) reference: Option<String>,
    /// CUDA: also apply the unsafe fixes.
    #[serde(default)]
    unsafe_fixes: bool,
}

/// The language of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum KernelLanguage {
    /// CUDA C++, which becomes HIP with the fixes of the analyzer.
    Cuda,
    /// HIP C++.
    Hip,
    /// Assembly text of clang or Triton.
    Assembly,
}

/// An architecture whose machine code the emulator executes.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum EmulatedArch {
    /// MI200 series.
    Gfx90a,
    /// MI300 series.
    Gfx942,
    /// MI350 series.
    Gfx950,
}

/// The result of a kernel that was executed.
#[derive(Deserialize, Serialize, ToSchema)]
pub(super) struct EmulateAnswer {
    /// Name of the source in messages.
    file: String,
    /// Symbol of the kernel.
    kernel: String,
    /// `gfx942`.
    arch: String,
    /// Workgroups in each dimension.
    grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    workgroup: [u32; 3],
    /// Number of fixes that made HIP of CUDA.
    fixes: u64,
    /// The HIP that was compiled, if it is not the source of the request.
    hip: Option<String>,
    /// Whether there is an error, a finding or a difference.
    failed: bool,
    /// Why the kernel did not run to its end.
    error: Option<EmulateError>,
    /// What the checks of the emulator found.
    findings: Vec<EmulateFinding>,
    /// Counts of the run.
    counts: EmulateCounts,
    /// Names of the buffers that the reference returned.
    compared: Vec<String>,
    /// The buffers that differ from the reference.
    differences: Vec<EmulateDifference>,
    /// The beginning of what the reference printed.
    output: String,
    /// Wall time, compilation included.
    seconds: f64,
}

/// Why a kernel did not run to its end.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateError {
    /// Line of the assembly text, from 1.
    line: u32,
    /// File and line of the source, if known: `kernel.cu:7`.
    source: Option<String>,
    message: String,
}

/// What a check of the emulator found.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateFinding {
    /// Kind, such as `out-of-bounds` or `lds-race`.
    kind: String,
    /// Line of the assembly text, from 1.
    line: u32,
    /// File and line of the source, if known.
    source: Option<String>,
    /// The first workgroup with this finding.
    workgroup: [u32; 3],
    /// Its first wavefront with this finding.
    wavefront: u32,
    /// Its lanes as a mask of 64 bits, such as `0xff`.
    lanes: String,
    message: String,
    /// How often the instruction had this finding.
    occurrences: u64,
}

/// Counts of a run.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateCounts {
    /// Instructions of wavefronts, by class.
    instructions: BTreeMap<String, u64>,
    /// Lanes that vector instructions executed.
    active_lanes: u64,
    /// Lanes that vector instructions masked.
    masked_lanes: u64,
    /// Cycles of matrix instructions.
    matrix_cycles: u64,
    /// Each instruction that accesses memory.
    accesses: Vec<EmulateAccess>,
}

/// Counts of an instruction that accesses memory.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateAccess {
    /// Line of the assembly text, from 1.
    line: u32,
    /// How many wavefronts executed it.
    executions: u64,
    /// Bytes of all lanes.
    bytes: u64,
    /// Segments of 64 bytes.
    segments64: u64,
    /// Cache lines of 128 bytes.
    lines128: u64,
    /// Cycles that bank conflicts of the LDS add.
    bank_conflicts: u64,
}

/// A buffer that differs from the reference.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateDifference {
    /// The argument.
    name: String,
    /// Elements of the buffer.
    elements: u64,
    /// Elements that differ.
    different: u64,
    /// Largest difference of two finite numbers.
    largest: f64,
    rtol: f64,
    atol: f64,
    /// The first elements that differ.
    first: Vec<EmulateElement>,
    /// The lanes that stored differing elements, by wavefront.
    lanes: Vec<EmulateLanes>,
}

/// An element that differs.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateElement {
    /// Position in the buffer: `3, 17`.
    index: String,
    result: String,
    reference: String,
    /// The workgroup that stored it; `null` if nothing did.
    workgroup: Option<[u32; 3]>,
    wavefront: Option<u32>,
    lane: Option<u32>,
    /// File and line of the source that stored it, if known.
    source: Option<String>,
}

/// Lanes of a wavefront.
#[derive(Deserialize, Serialize, ToSchema)]
struct EmulateLanes {
    workgroup: [u32; 3],
    wavefront: u32,
    /// A mask of 64 bits, such as `0xffffffff00000000`.
    lanes: String,
}
