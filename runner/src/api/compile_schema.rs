//! The request and the answer of `POST /api/v1/compile`, as the OpenAPI document describes them.
//!
//! The server checks types and ranges of the request, so that no worker is used for an invalid one, and passes the worker's answer on
//! unchanged. The worker (`kernels/hipward_kernels/compile`) checks what depends on the source.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::RangeInclusive};
use utoipa::ToSchema;

/// A source to compile.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the types are checked")]
pub(super) struct CompileRequest {
    /// The language of the source.
    pub(super) language: Language,
    /// The source; at most 256 KiB.
    #[schema(
        min_length = 1,
        pattern = r"[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
    )]
    pub(super) source: String,
    /// Targets. Default: gfx90a, gfx942 and gfx950.
    #[schema(min_items = 1, max_items = 8, example = json!(["gfx942"]))]
    archs: Option<Vec<String>>,
    /// Triton: the kernel to compile, required where the source has more than one that can be launched.
    kernel: Option<String>,
    /// Triton: by argument, its type (`*bf16`, `i32:16`, `fp32`) or the value of a constant. Arguments that are left
    /// out are guessed, and the answer states how.
    arguments: Option<Map<String, Value>>,
    /// Triton: wavefronts of a workgroup.
    #[schema(minimum = 1, maximum = 16)]
    num_warps: Option<u32>,
    /// Triton: stages of software pipelining.
    #[schema(minimum = 1, maximum = 8)]
    num_stages: Option<u32>,
    /// Triton: wavefronts of a SIMD that the compiler aims for.
    #[schema(maximum = 10)]
    waves_per_eu: Option<u32>,
    /// HIP: clang flags that affect code generation and open no file, such as `-O2` or `-DN=4`.
    flags: Option<Vec<String>>,
}

impl CompileRequest {
    /// Describes the value that is out of its range, if one is.
    pub(super) fn out_of_range(&self) -> Option<&'static str> {
        let is_in = |value: Option<u32>, range: RangeInclusive<u32>| {
            value.is_none_or(|value| range.contains(&value))
        };
        let archs = self.archs.as_ref().map_or(1, Vec::len);
        [
            (
                (1..=8).contains(&archs),
                "`archs` is not a list of 1 to 8 targets",
            ),
            (
                is_in(self.num_warps, 1..=16),
                "`num_warps` is not from 1 to 16",
            ),
            (
                is_in(self.num_stages, 1..=8),
                "`num_stages` is not from 1 to 8",
            ),
            (
                is_in(self.waves_per_eu, 0..=10),
                "`waves_per_eu` is more than 10",
            ),
        ]
        .into_iter()
        .find_map(|(is_valid, problem)| (!is_valid).then_some(problem))
    }
}

/// The language of a kernel.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    /// Triton, a Python module.
    Triton,
    /// HIP C++.
    Hip,
}

/// A compiled source.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct CompileAnswer {
    /// `compiled`.
    #[serde(rename = "type")]
    kind: String,
    /// The language of the source.
    language: Language,
    /// `Triton 3.9.0`, `clang 22.1.8`.
    compiler: String,
    /// The result for each target.
    targets: Vec<CompiledTarget>,
    /// Triton: the arguments as they were compiled, guesses included.
    signature: Vec<CompiledArgument>,
    /// Triton: wavefronts of a workgroup.
    num_warps: Option<u32>,
    /// Seconds for all targets.
    seconds: f64,
}

/// The result for one target.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct CompiledTarget {
    /// `gfx942`.
    arch: String,
    /// Seconds.
    seconds: f64,
    /// The kernels of the source.
    kernels: Vec<CompiledKernel>,
    /// The text of each stage by its name: `ttir`, `ttgir`, `llir`, `amdgcn`.
    texts: BTreeMap<String, String>,
    /// The lines of `amdgcn` that each source line was compiled to.
    lines: Vec<LineRange>,
    /// Why there is no code for this target.
    error: Option<TargetError>,
}

/// One kernel on one target.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct CompiledKernel {
    /// Registers, spills, scratch, LDS, code size, instructions, and memory accesses by width.
    resources: Map<String, Value>,
    /// Wavefronts per SIMD and per compute unit, and what limits them.
    occupancy: Map<String, Value>,
}

/// Lines of the assembly, numbered from 1, first to last, that one source line was compiled to.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct LineRange {
    first: u64,
    last: u64,
    source: u64,
}

/// Why a target has no code.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct TargetError {
    /// Stable code.
    code: String,
    /// What happened.
    message: String,
    /// What to do about it.
    help: String,
    /// Line of the source, from 1, where the compiler names one.
    line: Option<u64>,
}

/// One argument of a Triton kernel.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes the worker's JSON")]
pub(super) struct CompiledArgument {
    /// Name.
    name: String,
    /// `*bf16`, `i32:16`, or `constexpr`.
    #[serde(rename = "type")]
    kind: String,
    /// Value of a constant.
    #[serde(default)]
    value: Value,
    /// Where the type or value comes from.
    source: ArgumentSource,
}

/// Where the type or value of an argument comes from.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ArgumentSource {
    /// The request.
    Request,
    /// A type annotation.
    Annotation,
    /// A default value.
    Default,
    /// A configuration of the autotuner.
    Autotune,
    /// A guess from the name and the use of the argument.
    Guess,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_answer_matches_the_schema() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../kernels/results/isa_example.json"
        );
        let text = std::fs::read_to_string(path).expect("the recorded example");
        let mut example: Value = serde_json::from_str(&text).expect("JSON");
        let answer = CompileAnswer::deserialize(example["answer"].take()).expect("an answer");
        assert_eq!(answer.kind, "compiled");
        assert!(!answer.targets.is_empty());
    }
}
