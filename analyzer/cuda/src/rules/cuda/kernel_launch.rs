//! HW904: kernel launches as a macro call, on request only.

use std::borrow::Cow;
use std::ops::Range;

use crate::{CudaChecker, Setting, Source};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Rewrites `kernel<<<grid, block, bytes, stream>>>(…)` as `hipLaunchKernelGGL(…)`. The rule only runs if it is
    /// selected by name: `--select kernel-launch`.
    ///
    /// ## Why on ROCm
    ///
    /// clang and hipcc compile `<<<…>>>` directly, so no change is necessary. `hipLaunchKernelGGL` is for sources that
    /// are also compiled by a C++ compiler without this syntax.
    ///
    /// ## Example
    ///
    /// ```cuda select=kernel-launch
    /// #include <hip/hip_runtime.h>
    ///
    /// template <typename T, int N>
    /// __global__ void scale(T* x, T by);
    ///
    /// void run(float* x, hipStream_t stream) {
    ///     scale<float, 4><<<dim3(2, 2), 256, 0, stream>>>(x, max(1.0f, 2.0f));
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda select=kernel-launch
    /// #include <hip/hip_runtime.h>
    ///
    /// template <typename T, int N>
    /// __global__ void scale(T* x, T by);
    ///
    /// void run(float* x, hipStream_t stream) {
    ///     hipLaunchKernelGGL(HIP_KERNEL_NAME(scale<float, 4>), dim3(2, 2), dim3(256), 0, stream, x, max(1.0f, 2.0f));
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the macro evaluates the same expressions, but an argument that is itself a macro for several arguments
    /// may expand differently.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW904" "kernel-launch" {
        title: "A launch can be a macro call (on request)",
        family: CudaCpp,
        severity: Info,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        on_request: true,
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    if cx.setting == Setting::PyTorchExtension {
        return;
    }
    let source = cx.source;
    for launch in source.launches() {
        let parts = source.arguments(&launch.configuration);
        if !(2..=4).contains(&parts.len()) || parts.iter().any(Range::is_empty) {
            continue;
        }
        let kernel = source.slice(launch.name..launch.configuration.start);
        let has_arguments = kernel.contains('<')
            || is_template(source, launch.name)
            || (launch.name + 1 == launch.configuration.start
                && defines_template_arguments(source, launch.name));
        let kernel = if has_arguments {
            format!("HIP_KERNEL_NAME({})", kernel.trim_end())
        } else {
            kernel.trim_end().to_owned()
        };
        let mut call = format!("hipLaunchKernelGGL({kernel},");
        // Line breaks and comments between the parts stay.
        let between = |from: u32, to: u32| {
            let (from, to) = (source.span(from..from + 1), source.span(to..to + 1));
            source.text.get(from.end..to.start).unwrap_or_default()
        };
        let mut last = launch.configuration.start;
        for (index, part) in parts.iter().enumerate() {
            let gap = between(last, part.start);
            let is_plain = gap.chars().all(|c| matches!(c, ' ' | '\t' | ','));
            call.push_str(match (is_plain, index) {
                (true, 0) => " ",
                (true, _) => ", ",
                (false, _) => gap,
            });
            let text = source.slice(part.clone());
            if index < 2 && !text.starts_with("dim3(") {
                call.push_str("dim3(");
                call.push_str(text);
                call.push(')');
            } else {
                call.push_str(&as_one(text));
            }
            last = part.end - 1;
        }
        for _ in parts.len()..4 {
            call.push_str(", 0");
        }
        if launch.arguments.len() > 2 {
            call.push(',');
        }
        let gap = between(last, launch.configuration.end - 1);
        if !gap.trim().is_empty() {
            call.push_str(gap);
        }
        let (open, close) = (launch.arguments.start, launch.arguments.end - 1);
        let arguments = source.span(open..close + 1);
        let arguments = source.text.get(arguments.start + 1..arguments.end - 1);
        let arguments = arguments.unwrap_or_default();
        let parted =
            arguments.starts_with(char::is_whitespace) || call.ends_with(char::is_whitespace);
        if launch.arguments.len() > 2 && !parted {
            call.push(' ');
        }
        if !arguments.trim().is_empty() {
            call.push_str(arguments);
        }
        call.push(')');
        let whole = source.span(launch.name..launch.arguments.end);
        cx.report(
            &RULE,
            launch.name..launch.arguments.end,
            "A HIP compiler accepts this launch; other compilers need the macro.",
            RawFix::unsafe_edits("Call `hipLaunchKernelGGL`", vec![(whole, call)]),
        );
    }
}

/// True if the source declares the kernel at `name` as a template: `template <typename T> __global__ void name(…)`.
fn is_template(source: &Source<'_>, name: u32) -> bool {
    /// An upper limit for the tokens between `template` and the name, and for the declarations of a name.
    const MAX: u32 = 60;
    source
        .places(source.token_text(name))
        .iter()
        .take(MAX as usize)
        .filter(|at| source.token_text(**at + 1) == "(")
        .any(|at| {
            let mut words = (at.saturating_sub(MAX)..*at).rev();
            let mut is_kernel = false;
            words
                .by_ref()
                .map(|token| source.token_text(token))
                .take_while(|text| !matches!(*text, ";" | "}" | "{"))
                .any(|text| {
                    is_kernel |= text == "__global__";
                    is_kernel && text == "template"
                })
        })
}

/// True if the word at `name` is a macro for a kernel with template arguments: `#define KERNEL scale<float, 4>`.
fn defines_template_arguments(source: &Source<'_>, name: u32) -> bool {
    /// An upper limit for the tokens of such a macro.
    const MAX: u32 = 60;
    source
        .definition(source.token_text(name))
        .is_some_and(|(line, at)| {
            (at + 1..line.end.min(at + MAX)).any(|token| source.token_text(token) == "<")
        })
}

/// In parentheses if the macro would otherwise treat it as several arguments: at a comma outside of parentheses.
fn as_one(text: &str) -> Cow<'_, str> {
    let mut depth = 0_i32;
    let has_comma = text.chars().any(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth <= 0
    });
    if has_comma {
        Cow::Owned(format!("({text})"))
    } else {
        Cow::Borrowed(text)
    }
}
