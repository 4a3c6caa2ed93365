//! HW905: the number 32 as the number of lanes.

mod blocks;
mod constants;
mod halves;
mod lanes;
mod transposes;

use crate::{CudaChecker, Kind, Source};
use halves::{exchanges_within_halves, works_on_halves};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;
use lanes::{lane, means_thread};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a hard-coded warp size of 32: a constant with such a name, a lane or warp number computed with 32 or 31, a block of `num_warps * 32` threads or `dim3(32, num_warps)`,
    /// a reduction over shuffles that begins at 16, and beside these CUB's `WarpReduce` and `WarpScan` without a width. Also
    /// launches of 32 threads with CUB's transposes within a warp (`BLOCK_LOAD_WARP_TRANSPOSE`), as in selective scans. Other uses of 32 (tiles, packed bits, sizes) are not reported.
    /// Neither is a source in which every shuffle has a width, which uses cooperative-group tiles of 32, or which counts lanes
    /// to 32 and exchanges data over at most 16 lanes only (`__shfl_xor`, `__shfl_down` and `__shfl_up`): each half of a wavefront
    /// then does what a warp does. Neither is a reduction inside `if (tid < 32)`, nor a number of a part of a block (`threadIdx.x >> 5`) in a source whose kernels have no
    /// instruction that combines lanes.
    ///
    /// From ROCm 7.0 on it also finds `warpSize`, and macros with it, in the size of an array, a template argument, a
    /// `constexpr` value, `static_assert`, `case` and `__launch_bounds__`, and in functions that launch kernels.
    ///
    /// ## Why on ROCm
    ///
    /// A wavefront of an Instinct GPU has 64 lanes. `threadIdx.x % 32` is then not a lane number, a reduction that
    /// starts at 16 adds half of the lanes, and an array with one element per 32 threads is read beyond the elements
    /// that were written. The code compiles, but the result is wrong.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// #define WARP_SIZE 32
    ///
    /// __global__ void k(float* out) {
    ///     const int lane = threadIdx.x & 31;
    ///     out[threadIdx.x] = lane;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void k(float* out) {
    ///     const int lane = threadIdx.x % warpSize;
    ///     out[threadIdx.x] = lane;
    /// }
    /// ```
    ///
    /// `warpSize` is 64 on CDNA GPUs up to gfx950, 32 on Radeon GPUs and gfx1250, and is not a compile-time constant since ROCm 7.0: only device code can read it. If a constant is needed,
    /// define 64 under `#ifdef USE_ROCM` (or `__HIP_PLATFORM_AMD__`) and 32 in the other branch. Such a definition is
    /// not reported, and neither is a source with AMD's own instructions (`__builtin_amdgcn_…`). An algorithm for 32
    /// lanes still works if the shuffles have a width of 32, or if the source checks for AMD elsewhere and exchanges no
    /// data between lanes.
    ///
    /// ## Fix safety
    ///
    /// Display-only: other code that depends on the number has to change with it.
    ///
    /// ## References
    ///
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    /// * [HIP C++ language extensions: warpSize](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW905" "warp-size" {
        title: "A wavefront has 64 lanes, not 32",
        family: CudaCpp,
        severity: Warning,
        also: [Error "where warpSize has to be a constant, in host code, and for transposes of hipCUB"],
        applicability: DisplayOnly,
        targets: "targets with wavefronts of 64 lanes; for warpSize, every target from ROCm 7.0 on",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

const FIX: &str = "Use `warpSize`, or a constant that is 64 on AMD";

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let arch = cx.target.arch.name();
    if cx.target.rocm >= Version::new(7, 0) {
        constants::report(cx);
    }
    if cx.target.arch.wavefront() != 64 || knows_amds_lanes(source) {
        return;
    }
    transposes::report(cx);
    if counts_to_32(source) {
        warps_of_cub(cx);
    }
    // The tiles of WMMA belong to whole wavefronts.
    let has_tiles = !source.places("wmma").is_empty();
    let are_short = !has_tiles && exchanges_within_halves(source);
    let in_halves = are_short || !has_tiles && works_on_halves(source);
    let cuts_blocks = cx.knows_amd && !exchanges(source);
    let has_lanes = !in_halves && !cuts_blocks;
    let in_parts = !has_tiles && only_numbers_parts(source);
    for number in 0..source.token_count() {
        if source.kind(number) != Kind::Number {
            continue;
        }
        match source.token_text(number) {
            "32" | "32u" | "32U" => {
                if in_halves || (in_parts && source.before(number, 1) != "%") {
                    continue;
                }
                if let Some(name) = constant(source, number) {
                    if is_in_function(source, name) && (cuts_blocks || is_of_a_host(source)) {
                        continue;
                    }
                    let text = source.token_text(name);
                    let message =
                        format!("`{text}` is 32 here; a wavefront of {arch} has 64 lanes.");
                    cx.report(&RULE, name..name + 1, message, RawFix::display_only(FIX));
                    continue;
                }
                if has_lanes && matches!(source.before(number, 1), "%" | "/") {
                    report_lane(cx, number);
                }
                if let Some(from) = blocks::counted_in_warps(source, number).filter(|_| has_lanes) {
                    let message = format!(
                        "This block counts warps of 32 threads; a wavefront of {arch} has 64 lanes, and holds two of them."
                    );
                    cx.report(&RULE, from..number + 1, message, RawFix::display_only(FIX));
                }
            }
            "31" | "31u" | "31U" | "0x1f" | "0x1F"
                if has_lanes && source.before(number, 1) == "&" =>
            {
                report_lane(cx, number);
            }
            "5" if has_lanes
                && !in_parts
                && source.reads(number.saturating_sub(2), &[">", ">"]) =>
            {
                report_lane(cx, number);
            }
            "16" if source.before(number, 1) == "=" && !are_short => shuffles(cx, number),
            _ => {}
        }
    }
}

/// `cub::WarpReduce<float>` beside lane numbers of 32: the width is 32 in CUB and 64 in hipCUB.
fn warps_of_cub(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for name in ["WarpReduce", "WarpScan"] {
        for at in source.places(name) {
            let is_cubs = source.before(*at, 1) == "::"
                && matches!(source.before(*at, 2), "cub" | "hipcub")
                && source.token_text(at + 1) == "<";
            let Some(end) = is_cubs.then(|| source.angle_end(at + 1)).flatten() else {
                continue;
            };
            // The same separators as between the arguments of a call.
            let one = source.arguments(&(at + 1..end));
            if let [only] = one.as_slice() {
                let written = source.slice(only.clone());
                cx.report(
                    &RULE,
                    at - 2..end,
                    format!(
                        "Without a width, hipCUB's `{name}` combines {} lanes; this source counts 32.",
                        cx.target.arch.wavefront()
                    ),
                    RawFix::display_only(format!("Write `{name}<{written}, 32>`")),
                );
            }
        }
    }
}

/// True for a source with AMD instructions: its author uses the correct number of lanes.
fn knows_amds_lanes(source: &Source<'_>) -> bool {
    source
        .words()
        .any(|(word, _)| word.starts_with("__builtin_amdgcn") || word.starts_with("__gfx"))
}

/// True if a warp size or a lane number of the source assumes 32 lanes: `#define WARP_SIZE 32`, `threadIdx.x & 31`.
pub(super) fn counts_to_32(source: &Source<'_>) -> bool {
    (0..source.token_count()).any(|number| {
        let before = source.before(number, 1);
        match source.token_text(number).trim_end_matches(['u', 'U']) {
            "32" => before == "%" || constant(source, number).is_some(),
            "31" | "0x1f" | "0x1F" => before == "&",
            _ => false,
        }
    })
}

/// The name with this value: `#define WARP_SIZE 32`, `constexpr int kWarpSize = 32`.
fn constant(source: &Source<'_>, number: u32) -> Option<u32> {
    let mut before = number.checked_sub(1)?;
    while matches!(source.token_text(before), "(" | "{") {
        before = before.checked_sub(1)?;
    }
    let name = if source.token_text(before) == "=" {
        before.checked_sub(1)?
    } else {
        let line = source.directive_of(before)?;
        let is_define = source.directive_name(line) == "define" && before == line.start + 2;
        is_define.then_some(before)?
    };
    // `WARP_SIZE = 32 * 4` is a different value.
    let ends = matches!(
        source.token_text(number + 1),
        ";" | "," | ")" | "}" | ">" | ""
    ) || source
        .directive_of(number)
        .is_some_and(|line| line.end == number + 1);
    (ends && source.kind(name) == Kind::Word && means_warp_size(source.token_text(name)))
        .then_some(name)
}

/// True if lanes exchange data: lane numbers have to be correct.
fn exchanges(source: &Source<'_>) -> bool {
    source
        .words()
        .any(|(word, _)| word.contains("shfl") || word.contains("ballot"))
}

/// True for kernels that at most number parts of a block (`threadIdx.x >> 5`): no lane reads another one's data.
fn only_numbers_parts(source: &Source<'_>) -> bool {
    const EXCHANGES: &str = "shfl ballot __any __all __match __reduce activemask asm volatile";
    // `warpSum(x)`, `WarpReduce<T>`, `% WARP_SIZE` and `WARP_SIZE - 1`
    let combines =
        |at: &u32| source.before(*at, 1) == "%" || listed("( < -", source.token_text(at + 1));
    !source.places("__global__").is_empty()
        && source.words().all(|(word, places)| {
            !EXCHANGES.split(' ').any(|part| word.contains(part))
                && (!word.to_ascii_lowercase().contains("warp") || !places.iter().any(combines))
        })
}

/// True for a constant of a function.
fn is_in_function(source: &Source<'_>, name: u32) -> bool {
    source
        .enclosing_braces(name)
        .is_some_and(|braces| matches!(source.before(braces.start, 1), ")" | "const"))
}

/// True for a source without device code: it may split a block into parts of any size.
fn is_of_a_host(source: &Source<'_>) -> bool {
    source
        .words()
        .all(|(word, _)| !matches!(word, "__global__" | "__device__"))
}

fn means_warp_size(name: &str) -> bool {
    let mut name = name.to_ascii_lowercase();
    name.retain(|c| c != '_');
    let name = name.strip_prefix('k').unwrap_or(&name);
    name.ends_with("warpsize")
        || name.ends_with("warpthreads")
        || name.ends_with("threadsperwarp")
        || name.ends_with("threadsinwarp")
        || name.ends_with("lanesperwarp")
        || name.ends_with("warplanes")
        || name == "warpsz"
}

fn report_lane(cx: &CudaChecker<'_>, number: u32) {
    let Some(from) = lane(cx.source, number) else {
        return;
    };
    let text = cx.source.token_text(number);
    let message = format!(
        "This assumes a warp of 32 threads (`{text}`); a wavefront of {} has 64 lanes.",
        cx.target.arch.name()
    );
    cx.report(&RULE, from..number + 1, message, RawFix::display_only(FIX));
}

/// True inside `if (tid < 32) {`: only lanes below 32 run the loop, and the result of the first one is right.
pub(super) fn is_of_first_lanes(source: &Source<'_>, token: u32) -> bool {
    source.enclosing_braces(token).is_some_and(|braces| {
        let before = |back| source.before(braces.start, back);
        let is_thread = means_thread(before(4)) || (before(4) == "x" && before(6) == "threadIdx");
        is_thread && before(3) == "<" && before(2) == "32" && before(1) == ")"
    })
}

/// `for (int offset = 16; offset > 0; offset /= 2)` around shuffles of full width.
fn shuffles(cx: &CudaChecker<'_>, number: u32) {
    let source = cx.source;
    let open = (number.saturating_sub(6)..number)
        .rev()
        .find(|at| source.token_text(*at) == "(" && source.before(*at, 1) == "for");
    let Some(close) = open.and_then(|open| source.partner(open)) else {
        return;
    };
    let body = match source.token_text(close + 1) {
        "{" => close + 1..source.partner(close + 1).unwrap_or(close + 1),
        _ => close + 1..close + 24,
    };
    // An upper limit for the length of such a loop; keeps the time for nested loops linear.
    let shuffle = body
        .take(400)
        .filter(|at| source.kind(*at) == Kind::Word)
        .find(|at| {
            source.token_text(*at).starts_with("__shfl")
                || (source.token_text(*at).to_ascii_lowercase().contains("shfl"))
        });
    let Some(call) = shuffle.and_then(|at| source.call(at)) else {
        return;
    };
    // A width of 32 means that half a wavefront is intended.
    let has_width = source
        .arguments(&call)
        .last()
        .is_some_and(|last| matches!(source.slice(last.clone()), "32" | "16"));
    if !has_width && !open.is_some_and(|open| is_of_first_lanes(source, open)) {
        let name = number.saturating_sub(2);
        let message = format!(
            "Shuffles from 16 down combine 32 lanes; a wavefront of {} has 64.",
            cx.target.arch.name()
        );
        cx.report(
            &RULE,
            name..number + 1,
            message,
            RawFix::display_only("Begin at `warpSize / 2`"),
        );
    }
}
