//! HW906: 32-bit lane masks.

use std::collections::HashSet;

use super::warp_size::is_of_first_lanes;
use crate::lexer::Directive;
use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds 32-bit masks passed to `__shfl_sync` and related functions, `__ballot_sync`, `__any_sync`, `__all_sync`,
    /// `__match_any_sync`, `__reduce_add_sync` and `__syncwarp`, also through a macro's parameter.
    ///
    /// ## Why on ROCm
    ///
    /// A mask has one bit per lane, and a wavefront has up to 64 lanes. HIP's functions check the type of the mask at
    /// compile time, on every target: `0xffffffff` is a 32-bit number and stops the build with "The mask must be a 64-bit integer". The
    /// functions are available by default since ROCm 7.0; before, `HIP_ENABLE_WARP_SYNC_BUILTINS` enables them.
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
    /// The mask can have any 64-bit integer type, so `uint64_t mask = __activemask();` is correct for AMD, and NVIDIA's
    /// functions use the lower half.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a full mask becomes the full mask of 64 lanes, and any other mask, or one inside `if (threadIdx.x < 32)`, is only made wider. On targets with 64
    /// lanes, check that the surrounding code supports them; unless `NDEBUG` is defined, HIP stops a kernel whose mask names lanes that do not run, as in a block of 32 threads. On targets with 32, HIP ignores the upper half.
    ///
    /// ## References
    ///
    /// * [HIP: warp cross-lane functions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW906" "lane-mask" {
        title: "A lane mask has 64 bits",
        family: CudaCpp,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

const FUNCTIONS: &str = "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __any_sync __all_sync __ballot_sync \
    __match_any_sync __match_all_sync __reduce_add_sync __reduce_min_sync __reduce_max_sync \
    __reduce_and_sync __reduce_or_sync __reduce_xor_sync __syncwarp";

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let mut named = HashSet::new();
    for function in FUNCTIONS.split(' ') {
        if source.is_macro(function) {
            continue;
        }
        for at in cx.uses(function) {
            let mut masks: Vec<_> = first_argument(source, at)
                .map(|mask| (at, mask))
                .into_iter()
                .collect();
            // A macro's parameter has the values of its uses.
            while let Some((at, mask)) = masks.pop() {
                let name = source.token_text(mask.start);
                match source
                    .directive_of(at)
                    .and_then(|line| parameter(source, line, name))
                {
                    Some((macro_name, index)) if mask.len() == 1 => {
                        if named.insert((macro_name, index)) {
                            masks.extend(given(source, macro_name, index));
                        }
                    }
                    _ => check_mask(cx, function, at, mask, &mut named),
                }
            }
        }
    }
}

fn first_argument(source: &Source<'_>, at: u32) -> Option<Tokens> {
    source.arguments(&source.call(at)?).into_iter().next()
}

/// The macro that the preprocessor line defines, and the index of its parameter `name`.
fn parameter<'a>(source: &Source<'a>, line: &Directive, name: &str) -> Option<(&'a str, usize)> {
    let defined = line.start + 2;
    let parameters = source.arguments(&source.call(defined)?);
    let index = parameters
        .iter()
        .position(|it| source.slice(it.clone()) == name)?;
    (source.directive_name(line) == "define").then(|| (source.token_text(defined), index))
}

/// An argument in every use of a macro, with the use.
fn given(source: &Source<'_>, macro_name: &str, index: usize) -> Vec<(u32, Tokens)> {
    /// An upper limit for the uses of a macro; keeps the time linear.
    const MAX: usize = 100;
    let uses = source.places(macro_name).iter().take(MAX);
    uses.filter(|at| source.before(**at, 1) != "define")
        .filter_map(|at| {
            let arguments = source.arguments(&source.call(*at)?);
            Some((*at, arguments.into_iter().nth(index)?))
        })
        .collect()
}

/// Reports a mask in a use of `function`, or of a macro that passes it on, at `at`.
fn check_mask<'a>(
    cx: &CudaChecker<'a>,
    function: &str,
    at: u32,
    mask: Tokens,
    named: &mut HashSet<(&'a str, usize)>,
) {
    let source = cx.source;
    // A sign or a cast may precede the number.
    let last = mask.end - 1;
    match source.kind(last) {
        Kind::Number if mask.len() <= 2 => report(cx, function, mask.start, last),
        Kind::Word if mask.len() == 1 => {
            let name = source.token_text(last);
            if !named.insert((name, usize::MAX)) {
                return;
            }
            if let Some(value) = narrow_macro(source, name) {
                report(cx, function, value, value);
            } else if let Some(declaration) = narrow_constant(source, name) {
                report_constant(cx, function, declaration);
            } else if is_narrow_variable(source, name, at) {
                let message = format!("{} `{name}` has 32.", sentence(cx, function));
                let fix = format!("Make `{name}` a `uint64_t`, and its bits `1ull << lane`");
                cx.report(&RULE, mask, message, RawFix::display_only(fix));
            }
        }
        _ => {
            let text = source.slice(mask.clone());
            if matches!(
                text,
                "uint32_t(-1)"
                    | "int32_t(-1)"
                    | "unsigned(-1)"
                    | "int(-1)"
                    | "(unsigned)-1"
                    | "(uint32_t)-1"
            ) {
                let message = format!("{} `{text}` has 32.", sentence(cx, function));
                let full = full(source, mask.start);
                let edits = vec![(source.span(mask.clone()), full.to_owned())];
                let fix = RawFix::unsafe_edits(title(cx, full), edits);
                cx.report(&RULE, mask, message, fix);
            } else if let Some(one) = shifted(source, &mask) {
                let message = format!("{} `{text}` has 32.", sentence(cx, function));
                let edits = vec![(source.span(one..one + 1), "1ull".to_owned())];
                let fix = RawFix::unsafe_edits("Shift a number of 64 bits", edits);
                cx.report(&RULE, mask, message, fix);
            }
        }
    }
}

/// The number of `(1u << lanes) - 1`, if it has 32 bits.
fn shifted(source: &Source<'_>, mask: &Tokens) -> Option<u32> {
    let mut tokens = mask.clone();
    let one = tokens.find(|at| source.token_text(*at) != "(")?;
    let rest = one + 3..mask.end;
    let is_simple = rest.into_iter().all(|at| {
        let text = source.token_text(at);
        !matches!(text, "|" | "&" | "+" | "?" | "*")
            && integer(text).is_none_or(|(_, is_long)| !is_long)
    });
    let (value, is_long) = integer(source.token_text(one))?;
    (value == 1 && !is_long && is_simple && source.reads(one + 1, &["<", "<"])).then_some(one)
}

/// The mask of all lanes that run the code: inside `if (tid < 32)` there are 32, and HIP checks that the mask has no others.
fn full(source: &Source<'_>, at: u32) -> &'static str {
    match is_of_first_lanes(source, at) {
        true => "0xffffffffull",
        false => ALL_LANES,
    }
}

const ALL_LANES: &str = "0xffffffffffffffffull";

/// HIP stops the kernel if the mask names lanes that do not run, unless `NDEBUG` is defined.
fn title(cx: &CudaChecker<'_>, mask: &str) -> String {
    let part = match mask {
        ALL_LANES if cx.target.arch.wavefront() == 64 => {
            ", or `__activemask()` where lanes are missing: in a block of fewer than 64 threads, after a return, or in a branch"
        }
        _ => "",
    };
    format!("Write `{mask}`{part}")
}

fn sentence(cx: &CudaChecker<'_>, function: &str) -> String {
    let since = if cx.target.rocm < Version::new(7, 0) {
        " (with `HIP_ENABLE_WARP_SYNC_BUILTINS`)"
    } else {
        ""
    };
    format!(
        "`{function}`{since} needs a mask of 64 bits on {};",
        cx.target.arch.name()
    )
}

/// A number from `first` (its sign) to `last`, unless it has 64 bits already.
fn report(cx: &CudaChecker<'_>, function: &str, first: u32, last: u32) {
    let source = cx.source;
    let Some((value, is_long)) = integer(source.token_text(last)) else {
        return;
    };
    if is_long || value > u64::from(u32::MAX) {
        return;
    }
    let text = source.slice(first..last + 1);
    let wide = widened(text, value, full(source, first));
    let message = format!("{} `{text}` has 32.", sentence(cx, function));
    let edits = vec![(source.span(first..last + 1), wide.clone())];
    cx.report(
        &RULE,
        first..last + 1,
        message,
        RawFix::unsafe_edits(title(cx, &wide), edits),
    );
}

/// The value of an integer literal, and whether its suffix makes it 64 bits wide.
fn integer(text: &str) -> Option<(u64, bool)> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = text.get(digits.len()..).unwrap_or_default();
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some((value, suffix.contains(['l', 'L'])))
}

/// The 64-bit mask for the same lanes; all 64 if it was all 32.
fn widened(text: &str, value: u64, full: &str) -> String {
    if value == u64::from(u32::MAX) || matches!(text, "-1" | "~0" | "~0u" | "~0U") {
        full.to_owned()
    } else {
        format!("{}ull", text.trim_end_matches(['u', 'U', 'l', 'L']))
    }
}

/// The number of `#define FULL_MASK 0xffffffff`.
fn narrow_macro(source: &Source<'_>, name: &str) -> Option<u32> {
    let (line, at) = source.definition(name)?;
    let value = at + 1;
    (value + 1 == line.end && source.kind(value) == Kind::Number).then_some(value)
}

/// The type, name and number of `constexpr unsigned FULL_MASK = 0xffffffff;`, if it is the only one with that name.
fn narrow_constant(source: &Source<'_>, name: &str) -> Option<Tokens> {
    let mut given = source
        .places(name)
        .iter()
        .filter(|at| source.token_text(**at + 1) == "=");
    let at = *given.next()?;
    let is_number = source.kind(at + 2) == Kind::Number && source.token_text(at + 3) == ";";
    let mut first = at;
    while NARROW.contains(&source.before(first, 1)) {
        first -= 1;
    }
    (is_number && first < at && given.next().is_none()).then_some(first..at + 3)
}

fn report_constant(cx: &CudaChecker<'_>, function: &str, declaration: Tokens) {
    let source = cx.source;
    let number = declaration.end - 1;
    let text = source.token_text(number);
    let Some((value, _)) = integer(text) else {
        return;
    };
    let name = declaration.end - 3;
    let edits = vec![
        (
            source.span(declaration.start..name),
            "unsigned long long".to_owned(),
        ),
        (
            source.span(number..number + 1),
            widened(text, value, full(source, number)),
        ),
    ];
    let message = format!(
        "{} `{}` has 32.",
        sentence(cx, function),
        source.token_text(name)
    );
    cx.report(
        &RULE,
        declaration,
        message,
        RawFix::unsafe_edits("Use a 64-bit type", edits),
    );
}

/// 32-bit types.
pub(super) const NARROW: &[&str] = &["unsigned", "int", "uint32_t", "uint", "int32_t"];

/// True if the last declaration of the name before `at` has a 32-bit type.
fn is_narrow_variable(source: &Source<'_>, name: &str, at: u32) -> bool {
    source
        .places(name)
        .iter()
        .rev()
        .filter(|place| **place < at)
        .find_map(|place| match source.before(*place, 1) {
            narrow if NARROW.contains(&narrow) => Some(source.before(*place, 2) != "long"),
            "uint64_t" | "long" | "auto" | "size_t" | "lane_mask_t" | "LaneMask" => Some(false),
            _ => None,
        })
        .unwrap_or(false)
}
