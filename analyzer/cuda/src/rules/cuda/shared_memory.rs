//! HW914: more shared memory than a block can use.

use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__shared__` arrays, and dynamic shared memory of a constant size, that exceed the limit of a block on the
    /// target.
    ///
    /// ## Why on ROCm
    ///
    /// A block has 64 KB of shared memory (LDS) on most AMD GPUs, 160 KB on gfx950 and 320 KB on gfx1250. NVIDIA's data-center GPUs
    /// allow up to 227 KB in a kernel that opts in. Above the limit a static array does not compile, and a launch with
    /// more dynamic memory fails.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void k() {
    ///     __shared__ float tile[128][160];
    ///     tile[0][threadIdx.x] = 0.0f;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void k() {
    ///     __shared__ float tile[128][96];
    ///     tile[0][threadIdx.x] = 0.0f;
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to choose smaller tiles or fewer stages.
    ///
    /// ## References
    ///
    /// * [AMD GPU hardware specifications](https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html)
    "HW914" "shared-memory" {
        title: "More shared memory than a block has",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target; the limit depends on the architecture",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let limit = 1024 * u64::from(cx.target.arch.lds_kib());
    let report = |tokens: Tokens, bytes: u64| {
        let message = format!(
            "This takes {} KB of shared memory; a block has {} KB on {}.",
            bytes.div_ceil(1024),
            limit / 1024,
            cx.target.arch.name()
        );
        cx.report(
            &RULE,
            tokens,
            message,
            RawFix::display_only("Use smaller tiles or fewer stages"),
        );
    };
    for at in source.places("__shared__") {
        if source.before(*at, 1) == "extern" {
            continue;
        }
        if let Some((declaration, bytes)) = array_bytes(source, *at)
            && bytes > limit
        {
            report(declaration, bytes);
        }
    }
    for function in ["cudaFuncSetAttribute", "hipFuncSetAttribute"] {
        for at in cx.uses(function) {
            let arguments = source
                .call(at)
                .map(|call| source.arguments(&call))
                .unwrap_or_default();
            let [_, attribute, bytes] = arguments.as_slice() else {
                continue;
            };
            if source
                .slice(attribute.clone())
                .ends_with("MaxDynamicSharedMemorySize")
                && let Some(value) = sum(source, bytes.clone(), DEPTH)
                && value > limit
            {
                report(bytes.clone(), value);
            }
        }
    }
    for launch in source.launches() {
        if let [_, _, bytes, ..] = source.arguments(&launch.configuration).as_slice()
            && let Some(value) = sum(source, bytes.clone(), DEPTH)
            && value > limit
        {
            report(bytes.clone(), value);
        }
    }
}

/// The bytes of `__shared__ float name[A][B]`, if every number is known.
fn array_bytes(source: &Source<'_>, shared: u32) -> Option<(Tokens, u64)> {
    const MAX: u32 = 12;
    let mut bytes = None;
    let mut at = shared + 1;
    while source.token_text(at) != "[" {
        bytes = size_of(source.token_text(at)).or(bytes);
        at += 1;
        if at > shared + MAX || matches!(source.token_text(at), ";" | "(" | "{" | "") {
            return None;
        }
    }
    let mut total = bytes?;
    while source.token_text(at) == "[" {
        let close = source.partner(at)?;
        total = total.checked_mul(sum(source, at + 1..close, DEPTH)?)?;
        at = close + 1;
    }
    Some((shared..at, total))
}

fn size_of(word: &str) -> Option<u64> {
    Some(match word {
        "char" | "int8_t" | "uint8_t" | "bool" => 1,
        "half" | "__half" | "short" | "int16_t" | "uint16_t" | "__nv_bfloat16" | "nv_bfloat16"
        | "__hip_bfloat16" => 2,
        "float" | "int" | "unsigned" | "int32_t" | "uint32_t" | "half2" | "__half2" => 4,
        "double" | "float2" | "int2" | "int64_t" | "uint64_t" | "size_t" => 8,
        "float4" | "int4" | "uint4" | "double2" => 16,
        _ => return None,
    })
}

/// How many definitions are followed; ends recursive definitions.
const DEPTH: u32 = 3;
/// A size with more tokens, or a name with more uses, is skipped: this limits the analysis time for any text.
const MOST_TOKENS: usize = 20;
const MOST_PLACES: usize = 1000;

/// The value of an expression of numbers and names of numbers; `None` if a part is unknown.
pub(super) fn constant(source: &Source<'_>, tokens: Tokens) -> Option<u64> {
    sum(source, tokens, DEPTH)
}

/// A sum of products of numbers and names of numbers; `None` if a part is unknown.
fn sum(source: &Source<'_>, tokens: Tokens, depth: u32) -> Option<u64> {
    if tokens.is_empty() || tokens.len() > MOST_TOKENS {
        return None;
    }
    let mut sum = 0_u64;
    let mut factor = 1_u64;
    let mut at = tokens.start;
    loop {
        let (value, next) = value(source, at, depth)?;
        factor = factor.checked_mul(value)?;
        if next >= tokens.end {
            return sum.checked_add(factor);
        }
        match source.token_text(next) {
            "*" => {}
            "+" => {
                sum = sum.checked_add(factor)?;
                factor = 1;
            }
            _ => return None,
        }
        at = next + 1;
    }
}

/// The value of the expression at `at`, and the position of the next token.
fn value(source: &Source<'_>, at: u32, depth: u32) -> Option<(u64, u32)> {
    let text = source.token_text(at);
    if source.kind(at) == Kind::Number {
        let digits = text
            .trim_end_matches(['u', 'U', 'l', 'L'])
            .replace('\'', "");
        return Some((digits.parse().ok()?, at + 1));
    }
    let depth = depth.checked_sub(1)?;
    if text == "(" {
        let close = source.partner(at)?;
        return Some((sum(source, at + 1..close, depth)?, close + 1));
    }
    if text == "sizeof" && source.token_text(at + 1) == "(" {
        let close = source.partner(at + 1)?;
        let bytes = size_of(source.token_text(close - 1)).filter(|_| close == at + 3)?;
        return Some((bytes, close + 1));
    }
    Some((named(source, text, depth)?, at + 1))
}

/// The value of a name: `#define TILE 32`, or `constexpr int TILE = 32;`, if there is only one definition.
fn named(source: &Source<'_>, word: &str, depth: u32) -> Option<u64> {
    let places = source.places(word);
    if places.len() > MOST_PLACES {
        return None;
    }
    if let Some((line, name)) = source.definition(word) {
        return sum(source, name + 1..line.end, depth);
    }
    let is_given = |at: &&u32| {
        source.token_text(**at + 1) == "=" && matches!(source.before(**at, 1), "int" | "size_t")
    };
    let mut given = places.iter().filter(is_given);
    let at = *given.next()?;
    let is_constant = matches!(source.before(at, 2), "constexpr" | "const");
    let start = at + 2;
    let end = (start..=start + MOST_TOKENS as u32).find(|at| source.token_text(*at) == ";")?;
    (is_constant && given.next().is_none())
        .then(|| sum(source, start..end, depth))
        .flatten()
}
