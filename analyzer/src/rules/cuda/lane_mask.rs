//! HW906: lane masks of 32 bits.

use std::collections::HashSet;

use crate::cuda::{Checker, Kind, Source};
use crate::draft::Suggestion;
use crate::report::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds masks of 32 bits given to `__shfl_sync` and its relatives, `__ballot_sync`, `__any_sync`, `__all_sync`,
    /// `__match_any_sync`, `__reduce_add_sync` and `__syncwarp`.
    ///
    /// ## Why on ROCm
    ///
    /// A mask has one bit for a lane, and a wavefront has 64 lanes. HIP's functions check the type of the mask when
    /// they are compiled: `0xffffffff` is a 32-bit number and stops the build with "The mask must be a 64-bit integer".
    /// They are there without a macro since ROCm 7.0; before, `HIP_ENABLE_WARP_SYNC_BUILTINS` switches them on.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ float first(float x) {
    ///     return __shfl_sync(0xffffffff, x, 0);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ float first(float x) {
    ///     return __shfl_sync(0xffffffffffffffffull, x, 0);
    /// }
    /// ```
    ///
    /// Masks of any integer type of 64 bits do, so `uint64_t mask = __activemask();` is right for AMD, and NVIDIA's
    /// functions take the lower half.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a full mask becomes the full mask of 64 lanes, any other is only made wider. Whether 64 lanes are what
    /// the code around it expects is for a person to see.
    ///
    /// ## References
    ///
    /// * [HIP: warp cross-lane functions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW906" "lane-mask" {
        title: "A lane mask has 64 bits",
        family: CudaCpp,
        severity: Error,
        applicability: Unsafe,
        targets: "gfx90a, gfx942, gfx950",
        lesson: None,
        cuda: check,
    }
}

const FUNCTIONS: &[&str] = &[
    "__shfl_sync",
    "__shfl_up_sync",
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__any_sync",
    "__all_sync",
    "__ballot_sync",
    "__match_any_sync",
    "__match_all_sync",
    "__reduce_add_sync",
    "__reduce_min_sync",
    "__reduce_max_sync",
    "__reduce_and_sync",
    "__reduce_or_sync",
    "__reduce_xor_sync",
    "__syncwarp",
];

fn check(cx: &Checker<'_>) {
    let source = cx.source;
    let mut named = HashSet::new();
    for function in FUNCTIONS {
        if source.definition(function).is_some() {
            continue;
        }
        for at in cx.uses(function) {
            let Some(mask) = source
                .call(at)
                .and_then(|call| source.arguments(&call).into_iter().next())
            else {
                continue;
            };
            // A sign or a cast may stand before the number.
            let last = mask.end - 1;
            match source.kind(last) {
                Kind::Number if mask.len() <= 2 => {
                    report(cx, function, mask.start, last);
                }
                Kind::Word if mask.len() == 1 => {
                    let name = source.token_text(last);
                    if !named.insert(name) {
                        continue;
                    }
                    if let Some(value) = narrow_constant(source, name) {
                        report(cx, function, value, value);
                    } else if is_narrow_variable(source, name, at) {
                        let message = format!("{} `{name}` has 32.", sentence(cx, function));
                        let fix = format!("Make `{name}` a `uint64_t`");
                        cx.report(&RULE, mask, message, Suggestion::display_only(fix));
                    }
                }
                _ => {}
            }
        }
    }
}

fn sentence(cx: &Checker<'_>, function: &str) -> String {
    let since = if cx.target.rocm < Version::new(7, 0) {
        " (with `HIP_ENABLE_WARP_SYNC_BUILTINS`)"
    } else {
        ""
    };
    format!(
        "`{function}`{since} takes a mask of 64 bits on {};",
        cx.target.arch.name()
    )
}

/// A number from `first` (its sign) to `last`, unless it has 64 bits already.
fn report(cx: &Checker<'_>, function: &str, first: u32, last: u32) {
    let source = cx.source;
    let Some((value, is_long)) = integer(source.token_text(last)) else {
        return;
    };
    if is_long || value > u64::from(u32::MAX) {
        return;
    }
    let text = source.slice(first..last + 1);
    let full = value == u64::from(u32::MAX) || matches!(text, "-1" | "~0" | "~0u" | "~0U");
    let wide = if full {
        "0xffffffffffffffffull".to_owned()
    } else {
        format!("{}ull", text.trim_end_matches(['u', 'U', 'l', 'L']))
    };
    let message = format!("{} `{text}` has 32.", sentence(cx, function));
    let edits = vec![(source.span(first..last + 1), wide.clone())];
    cx.report(
        &RULE,
        first..last + 1,
        message,
        Suggestion::unsafe_edits(format!("Write `{wide}`"), edits),
    );
}

/// An integer literal's value, and whether it has a suffix that makes it 64 bits wide.
fn integer(text: &str) -> Option<(u64, bool)> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = text.get(digits.len()..).unwrap_or_default();
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some((value, suffix.contains(['l', 'L'])))
}

/// The number of `#define FULL_MASK 0xffffffff` or `constexpr unsigned FULL_MASK = 0xffffffff`.
fn narrow_constant(source: &Source<'_>, name: &str) -> Option<u32> {
    if let Some((line, at)) = source.definition(name) {
        let value = at + 1;
        return (value + 1 == line.end && source.kind(value) == Kind::Number).then_some(value);
    }
    None
}

/// True when the last declaration of the name before `at` gives it a type of 32 bits.
fn is_narrow_variable(source: &Source<'_>, name: &str, at: u32) -> bool {
    source
        .places(name)
        .iter()
        .rev()
        .filter(|place| **place < at)
        .find_map(|place| match source.before(*place, 1) {
            "unsigned" | "uint32_t" | "int" | "uint" | "int32_t" => {
                Some(!matches!(source.before(*place, 2), "long"))
            }
            "uint64_t" | "long" | "auto" | "size_t" | "lane_mask_t" | "LaneMask" => Some(false),
            _ => None,
        })
        .unwrap_or(false)
}
