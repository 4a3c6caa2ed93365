//! HW909: NVIDIA assembly in `asm`.

mod equivalents;

use std::cell::LazyCell;

use self::equivalents::{equivalent, row_of};
use crate::conditions::is_header;
use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds PTX in `asm` statements, and names the first instruction and its AMD equivalent, if HIP has one with the same
    /// rounding, saturation and type. Empty `asm` barriers and
    /// CPU assembly are not reported.
    ///
    /// ## Why on ROCm
    ///
    /// PTX is NVIDIA's assembly language. The compiler passes the text to the assembler of the AMD GPU, which does not
    /// support it. No converter translates it, including PyTorch's hipify.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ unsigned lane_id() {
    ///     unsigned lane;
    ///     asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
    ///     return lane;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ unsigned lane_id() {
    ///     return __lane_id();
    /// }
    /// ```
    ///
    /// For both vendors, put the PTX in the `#else` branch of `#ifdef USE_ROCM`; it is not reported there.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to translate operands and memory order.
    ///
    /// ## References
    ///
    /// * [PTX instruction set](https://docs.nvidia.com/cuda/parallel-thread-execution/)
    /// * [LLVM AMDGPU builtins](https://clang.llvm.org/docs/AMDGPUBuiltinReference.html)
    "HW909" "inline-ptx" {
        title: "PTX is NVIDIA's assembly",
        family: CudaCpp,
        severity: Error,
        also: [Info "in an inline function that the source does not call"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let is_whole = LazyCell::new(|| is_whole(source));
    for keyword in ["asm", "__asm__", "__asm"] {
        for at in source.places(keyword) {
            if !cx.is_for_both(*at) {
                continue;
            }
            let Some(template) = template(source, *at) else {
                continue;
            };
            if let Some((name, amd)) = instruction(source, template.clone()) {
                let is_unused = *is_whole && is_unused(source, *at);
                let severity = match is_unused || cx.knows_amd {
                    true => Severity::Info,
                    false => RULE.severity,
                };
                let ending = match is_unused {
                    true => "; it is not compiled, because nothing calls this inline function.",
                    false => ", which no AMD GPU supports.",
                };
                cx.report_as(
                    &RULE,
                    severity,
                    HandledBy::You,
                    *at..template.end.max(at + 1),
                    format!("`{name}` is PTX{ending}"),
                    equivalent(&name, amd).map(|amd| {
                        RawFix::display_only(format!("AMD has: {}", for_matrix_units(cx, &amd)))
                    }),
                );
            }
        }
    }
}

/// True for a source with kernels that is no header: other sources call none of its inline functions.
fn is_whole(source: &Source<'_>) -> bool {
    let mut kernels = source.places("__global__").iter();
    kernels.any(|at| source.body_after(*at).is_some()) && !is_header(source)
}

/// True within an inline function that nothing in the source calls: clang emits no code for it.
fn is_unused(source: &Source<'_>, token: u32) -> bool {
    /// An upper limit for the words between `inline` and the name, and for braces within each other.
    const MAX: u32 = 12;
    // The outermost `) {` is the function's; a namespace is around it.
    let mut close = None;
    let mut at = token;
    let mut levels = 0;
    while let Some(braces) = source.enclosing_braces(at) {
        at = braces.start;
        let before = at.checked_sub(1);
        close = before
            .filter(|before| source.token_text(*before) == ")")
            .or(close);
        levels += 1;
        if levels > MAX {
            return false;
        }
    }
    let open = close.and_then(|close| source.partner(close));
    let Some(name) = open.and_then(|open| open.checked_sub(1)) else {
        return false;
    };
    let word = source.token_text(name);
    let is_inline = (name.saturating_sub(MAX)..name)
        .rev()
        .map(|at| source.token_text(at))
        .take_while(|text| !matches!(*text, ";" | "}" | "{"))
        .any(|text| text.contains("inline"));
    is_inline && source.places(word).len() == 1
}

/// An equivalent that names MFMA, with the matrix instructions of the target.
fn for_matrix_units(cx: &CudaChecker<'_>, equivalent: &str) -> String {
    let name = cx.target.arch.matrix_instructions();
    equivalent
        .replace("MFMA", name)
        .replace("mfma", &name.to_ascii_lowercase())
}

/// The strings of an `asm` statement up to its first operand.
fn template(source: &Source<'_>, asm: u32) -> Option<Tokens> {
    let mut open = asm + 1;
    while matches!(
        source.token_text(open),
        "volatile" | "__volatile__" | "goto" | "inline"
    ) {
        open += 1;
    }
    if source.token_text(open) != "(" {
        return None;
    }
    let end = source.partner(open).unwrap_or(open);
    // Longer than any template; limits the search so that nested `asm` takes linear time.
    let end = end.min(open + 2_000);
    let stop = (open + 1..end)
        .find(|at| matches!(source.token_text(*at), ":" | "::"))
        .unwrap_or(end);
    Some(open + 1..stop)
}

/// The most specific instruction of the strings.
fn instruction(source: &Source<'_>, template: Tokens) -> Option<(String, &'static str)> {
    let mut best: Option<(usize, String, &'static str)> = None;
    for at in template.filter(|at| source.kind(*at) == Kind::Text) {
        let text = source.token_text(at);
        let inside = text
            .trim_start_matches(['R', 'L', 'u', 'U', '8'])
            .trim_matches('"');
        // A statement begins after `;`, a brace or a line break, and may have a predicate.
        for statement in inside.split([';', '{', '}', '\n']) {
            for statement in statement.split("\\n") {
                let statement = statement
                    .trim_start_matches("\\t")
                    .trim_start_matches('(')
                    .trim();
                let statement = match statement.strip_prefix('@') {
                    Some(rest) => rest
                        .split_once([' ', '\t'])
                        .map_or("", |(_, rest)| rest)
                        .trim(),
                    None => statement,
                };
                let name = statement
                    .split([' ', '\t', '\\', ',', '"'])
                    .next()
                    .unwrap_or_default();
                if let Some((rank, row)) = row_of(name)
                    && best.as_ref().is_none_or(|(best, _, _)| rank < *best)
                {
                    best = Some((rank, name.to_owned(), row));
                }
            }
        }
    }
    best.map(|(_, name, row)| (name, row))
}
