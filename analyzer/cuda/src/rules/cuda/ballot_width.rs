//! HW907: the 64-bit result of a ballot in 32 bits.

use super::lane_mask::NARROW;
use super::warp_size::counts_to_32;
use crate::{CudaChecker, Source, Tokens};
use hipward_analyzer_core::diagnostic::{RawFix, Replacement};

declare_rule! {
    /// ## What it does
    ///
    /// Finds results of `__ballot_sync`, `__ballot`, `__activemask` and `__match_any_sync` that are stored in a 32-bit
    /// variable, counted by a function for 32 bits, or compared with `0xffffffff`.
    ///
    /// ## Why on ROCm
    ///
    /// The result has one bit per lane: 64 bits on a wavefront of 64 (CDNA). An `unsigned` or `int` stores the votes of the
    /// lower 32 lanes and drops the rest without a warning, and `__popc` counts half of them.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ int votes(bool yes) {
    ///     unsigned ballot = __ballot(yes);
    ///     return __popc(ballot);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ int votes(bool yes) {
    ///     unsigned long long ballot = __ballot(yes);
    ///     return __popcll(ballot);
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the variable becomes 64 bits wide, and its uses in `__popc`, `__ffs`, `__clz` and `__brev` are replaced
    /// by the 64-bit functions. Display-only if it has other uses, such as `~(1 << lane)`, and in a source that counts
    /// 32 lanes (`threadIdx.x & 31`): these have to change with it.
    ///
    /// ## References
    ///
    /// * [HIP: warp vote and ballot functions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW907" "ballot-width" {
        title: "A ballot has 64 bits",
        family: CudaCpp,
        severity: Warning,
        applicability: Unsafe,
        targets: "targets with wavefronts of 64 lanes",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

const FUNCTIONS: &[&str] = &[
    "__ballot_sync",
    "__ballot",
    "__activemask",
    "__match_any_sync",
    "__match_all_sync",
];

/// Functions for 32 bits, and for 64.
const COUNTERS: &[(&str, &str)] = &[
    ("__popc", "__popcll"),
    ("__ffs", "__ffsll"),
    ("__clz", "__clzll"),
    ("__brev", "__brevll"),
];

fn check(cx: &CudaChecker<'_>) {
    if cx.target.arch.wavefront() != 64 {
        return;
    }
    let source = cx.source;
    for function in FUNCTIONS {
        for at in cx.uses(function) {
            let Some(call) = source.call(at) else {
                continue;
            };
            let counter = at.checked_sub(2).and_then(|name| wide(source, name));
            let full = call.end + 2;
            if let (Some(wide), "(") = (counter, source.before(at, 1)) {
                let counter = at - 2;
                let edits = vec![(source.span(counter..counter + 1), wide.to_owned())];
                report(cx, function, counter..at + 1, edits, true);
            } else if source.before(at, 1) == "=" {
                declared(cx, function, at);
            } else if source.reads(call.end, &["=", "="]) && is_full(source.token_text(full)) {
                let edits = vec![(source.span(full..full + 1), "~0ull".to_owned())];
                report(cx, function, at..full + 1, edits, true);
            }
        }
    }
}

/// Reports a finding; `is_whole` is true if the edits change all that has to change.
fn report(
    cx: &CudaChecker<'_>,
    function: &str,
    tokens: Tokens,
    edits: Vec<Replacement>,
    is_whole: bool,
) {
    let message = format!(
        "`{function}` has 64 bits on {}; the upper 32 lanes are lost here.",
        cx.target.arch.name()
    );
    // A wide mask beside lane numbers below 32 would be wrong in another way: `while (mask)` may not end.
    let fix = if is_whole && !counts_to_32(cx.source) {
        RawFix::unsafe_edits("Use 64 bits", edits)
    } else {
        RawFix::display_only(
            "Use 64 bits, also in shifts (`1ull << lane`), masks (`~0ull`) and lane numbers beside it",
        )
    };
    cx.report(&RULE, tokens, message, fix);
}

/// `unsigned name = __ballot(…)`: the type, and the functions that count the bits of `name` in the same block. `auto`
/// already has 64 bits, but the functions that count do not.
fn declared(cx: &CudaChecker<'_>, function: &str, at: u32) {
    let source = cx.source;
    let Some(name) = at.checked_sub(2) else {
        return;
    };
    let mut first = name;
    // `unsigned const name`
    if source.before(first, 1) == "const" && NARROW.contains(&source.before(first, 2)) {
        first -= 1;
    }
    while NARROW.contains(&source.before(first, 1)) {
        first -= 1;
    }
    let mut edits = Vec::new();
    let mut place = None;
    if first < name {
        edits.push((source.span(first..name), "unsigned long long".to_owned()));
        place = Some(first..at + 1);
    } else if !matches!(source.before(name, 1), "auto" | "uint64_t" | "long") {
        return;
    }
    let mut is_whole = true;
    let scope = source.enclosing_braces(name);
    for use_ in source.places(source.token_text(name)) {
        if *use_ <= at || !scope.as_ref().is_some_and(|scope| scope.contains(use_)) {
            continue;
        }
        let counter = use_
            .checked_sub(2)
            .filter(|_| source.before(*use_, 1) == "(");
        if let Some((counter, wide)) = counter.and_then(|at| Some((at, wide(source, at)?))) {
            edits.push((source.span(counter..counter + 1), wide.to_owned()));
            place.get_or_insert(counter..use_ + 1);
            // `31 - __clz(name)`
            is_whole &= source.before(counter, 2) != "31";
        } else {
            // `name & (1 << lane)`, `name == 0xffffffff`, `f(name)`
            is_whole = false;
        }
    }
    if let Some(place) = place {
        report(cx, function, place, edits, is_whole);
    }
}

fn is_full(number: &str) -> bool {
    number
        .trim_end_matches(['u', 'U'])
        .eq_ignore_ascii_case("0xffffffff")
}

fn wide(source: &Source<'_>, counter: u32) -> Option<&'static str> {
    let text = source.token_text(counter);
    COUNTERS
        .iter()
        .find(|(narrow, _)| *narrow == text)
        .map(|(_, wide)| *wide)
}
