//! HW922: atomic additions to 16-bit floating-point numbers.

use crate::{CudaChecker, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Arch, HandledBy, Severity, Version};
use std::collections::HashMap;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `atomicAdd` on `half`, `half2`, `__nv_bfloat16` and `__nv_bfloat162`, with a cast to `float2*` or `float4*`, and
    /// a project's own definition of it in a source that does not name `HIP_VERSION`.
    ///
    /// ## Why on ROCm
    ///
    /// HIP has those for 16 bits since ROCm 7.13, and none for `float2`. Before, a call does not compile; since then, a
    /// project's definition for `__CUDA_ARCH__ < 700` is a second one, because the macro is 0 on AMD GPUs, and so is one for
    /// `defined(USE_ROCM)`.
    /// HIP's functions are loops, and `unsafeAtomicAdd` is one instruction on gfx942, gfx950 and gfx12, for memory of
    /// `hipMalloc`.
    ///
    /// ## Example
    ///
    /// ```cuda rocm=7.2
    /// #include <hip/hip_fp16.h>
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void add(__half2* out, __half2 value) { atomicAdd(out, value); }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda rocm=7.2
    /// #include <hip/hip_fp16.h>
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void add(__half2* out, __half2 value) { unsafeAtomicAdd(out, value); }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the kind of memory decides.
    ///
    /// ## References
    ///
    /// * [rocm-systems#5194](https://github.com/ROCm/rocm-systems/pull/5194)
    /// * [vllm#917](https://github.com/ROCm/vllm/pull/917)
    "HW922" "half-atomic" {
        title: "atomicAdd on 16-bit numbers depends on the ROCm release",
        family: CudaCpp,
        severity: Error,
        also: [Advice "for a call, from ROCm 7.13 on"],
        applicability: DisplayOnly,
        targets: "every ROCm target; the instruction exists on gfx942, gfx950 and gfx12",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

/// The first ROCm release whose headers define the overloads.
const DEFINED_FROM: Version = Version::new(7, 13);

const TYPES: &[&str] = &[
    "half",
    "__half",
    "half2",
    "__half2",
    "nv_bfloat16",
    "__nv_bfloat16",
    "nv_bfloat162",
    "__nv_bfloat162",
];

/// Functions, and which of the types they return.
const CONVERSIONS: &[(&str, &str)] = &[
    ("__float2half", "half"),
    ("__float2half_rn", "half"),
    ("__float2half2_rn", "half2"),
    ("__floats2half2_rn", "half2"),
    ("__float22half2_rn", "half2"),
    ("__halves2half2", "half2"),
    ("__half2half2", "half2"),
    ("__float2bfloat16", "__nv_bfloat16"),
    ("__float2bfloat16_rn", "__nv_bfloat16"),
    ("__float2bfloat162_rn", "__nv_bfloat162"),
    ("__floats2bfloat162_rn", "__nv_bfloat162"),
    ("__float22bfloat162_rn", "__nv_bfloat162"),
    ("__halves2bfloat162", "__nv_bfloat162"),
    ("__bfloat162bfloat162", "__nv_bfloat162"),
];

/// The type that each name points to. Found once, so that a source with many calls takes linear time.
type Types<'a> = HashMap<&'a str, Option<&'a str>>;

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let is_defined = cx.target.rocm >= DEFINED_FROM;
    let mut calls = Vec::new();
    let mut types = Types::new();
    for at in cx.uses("atomicAdd") {
        let Some(parentheses) = source.call(at) else {
            continue;
        };
        let arguments = source.arguments(&parentheses);
        let [address, value, ..] = &arguments[..] else {
            continue;
        };
        if source.token_text(parentheses.end) == "{" {
            // A project's own overload: its calls need nothing from HIP.
            let Some(kind) = pointer_type(source, address) else {
                continue;
            };
            // A source that was written for AMD compiled before that release.
            let asks = source.text.contains("HIP_VERSION");
            if is_defined && source.enclosing_braces(at).is_none() && !asks {
                let message = format!(
                    "HIP defines this atomicAdd for `{kind}` since ROCm 7.13: a second definition does not compile."
                );
                let fix = RawFix::display_only("Define it only if HIP_VERSION < 71300000");
                cx.report_as(
                    &RULE,
                    Severity::Error,
                    HandledBy::You,
                    at..at + 1,
                    message,
                    fix,
                );
            }
            return;
        }
        if let Some(kind @ ("float2" | "float4")) = cast(source, address) {
            let message = format!("HIP has no atomicAdd for `{kind}`.");
            let fix = RawFix::display_only("Add each component on AMD");
            cx.report(&RULE, at..at + 1, message, fix);
        } else if let Some(kind) =
            addressed(source, address, &mut types).or_else(|| converted(source, value))
        {
            calls.push((at, kind));
        }
    }
    for (at, kind) in calls {
        let title = "Use unsafeAtomicAdd on memory of the GPU, or add up in float32";
        let fix = RawFix::display_only(title);
        if !is_defined {
            let message = format!("HIP before ROCm 7.13 has no atomicAdd for `{kind}`.");
            cx.report(&RULE, at..at + 1, message, fix);
        } else if has_packed_atomics(cx.target.arch) {
            let message = format!(
                "HIP's atomicAdd for `{kind}` is a loop of compare-and-swap; {} adds two 16-bit numbers in one instruction.",
                cx.target.arch.name()
            );
            let range = at..at + 1;
            cx.report_as(&RULE, Severity::Advice, HandledBy::You, range, message, fix);
        }
    }
}

/// `flat_atomic_pk_add_f16` and `_bf16`, according to LLVM's features of the targets.
fn has_packed_atomics(arch: Arch) -> bool {
    let name = arch.name();
    matches!(name, "gfx942" | "gfx950") || name.starts_with("gfx12")
}

/// The type in `half* address`, `const __half2 *__restrict__ x`.
fn pointer_type<'a>(source: &Source<'a>, parameter: &Tokens) -> Option<&'a str> {
    let mut words = parameter.clone().map(|at| source.token_text(at));
    let kind = words.find(|word| TYPES.contains(word))?;
    words.any(|word| word == "*").then_some(kind)
}

/// The type in `reinterpret_cast<half2*>(x)` and `(half2*)x`.
fn cast<'a>(source: &Source<'a>, address: &Tokens) -> Option<&'a str> {
    let kind = match source.token_text(address.start) {
        "reinterpret_cast" => address.start + 2,
        "(" => address.start + 1,
        _ => return None,
    };
    (source.token_text(kind + 1) == "*").then(|| source.token_text(kind))
}

/// The type that an address points to: a cast, or a name that is declared as a pointer to one of the types, and
/// nowhere as another pointer.
fn addressed<'a>(source: &Source<'a>, address: &Tokens, types: &mut Types<'a>) -> Option<&'a str> {
    let first = source.token_text(address.start);
    if matches!(first, "reinterpret_cast" | "(") {
        return cast(source, address).filter(|kind| TYPES.contains(kind));
    }
    let name_at = if first == "&" {
        address.start + 1
    } else {
        address.start
    };
    // `out`, `&out[i]`, `out + i`: not a member of it.
    let next = source.token_text(name_at + 1);
    let is_plain = name_at + 1 == address.end || matches!(next, "[" | "+");
    if !is_plain {
        return None;
    }
    let name = source.token_text(name_at);
    *types.entry(name).or_insert_with(|| declared(source, name))
}

/// The type of a pointer with this name, if all declarations of the source agree.
fn declared<'a>(source: &Source<'a>, name: &str) -> Option<&'a str> {
    let mut found = None;
    for at in source.places(name) {
        let Some(kind) = source.pointee(*at) else {
            continue;
        };
        let kind = source.token_text(kind);
        if !TYPES.contains(&kind) {
            // A multiplication (`a * out[i]`), or another type.
            if matches!(
                kind,
                "float" | "double" | "int" | "unsigned" | "T" | "scalar_t" | "long"
            ) {
                return None;
            }
            continue;
        }
        found = Some(kind);
    }
    found
}

/// `half2` for `__halves2half2(a, b)`.
fn converted(source: &Source<'_>, value: &Tokens) -> Option<&'static str> {
    let name = source.token_text(value.start);
    let is_call = source
        .call(value.start)
        .is_some_and(|call| call.end == value.end);
    CONVERSIONS
        .iter()
        .find(|(function, _)| is_call && *function == name)
        .map(|(_, kind)| *kind)
}
