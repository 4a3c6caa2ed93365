//! HW920: launches that nvcc accepts and clang does not: braces without a type, spaces in `<<<`.

use crate::{CudaChecker, Source};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds kernel launches whose grid or block is written in braces without a type, `kernel<<<{x, y}, 256>>>(…)`, and launches
    /// with spaces in the operator: `kernel << <grid, block >> >(…)`.
    ///
    /// ## Why on ROCm
    ///
    /// nvcc accepts both. clang, which hipcc calls, does not: it reports `expected expression`. PyTorch's hipify changes
    /// neither. With the type before the braces and without the spaces, both compile it to the same code.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void scale(float* x);
    ///
    /// void run(float* x, unsigned rows) {
    ///     scale<<<{rows, 4}, {16, 16}>>>(x);
    ///     scale << <rows, 256 >> > (x);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void scale(float* x);
    ///
    /// void run(float* x, unsigned rows) {
    ///     scale<<<dim3(rows, 4), dim3(16, 16)>>>(x);
    ///     scale <<<rows, 256 >>> (x);
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the same launch, for both vendors.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW920" "launch-braces" {
        title: "clang does not accept this form of a launch",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for open in 0..source.token_count() {
        if let Some(close) = spaced(source, open) {
            let edits = [(open..close.0, "<<<"), (close.1..close.1 + 3, ">>>")];
            let edits = edits.map(|(tokens, text)| (source.span(tokens), text.to_owned()));
            cx.report(
                &RULE,
                open..close.0,
                "clang and hipcc reject spaces in `<<<` and `>>>`, and PyTorch's hipify leaves them.",
                RawFix::safe_edits("Write `<<<` and `>>>`", edits.to_vec()),
            );
        }
    }
    for launch in source.launches() {
        let parts = source.arguments(&launch.configuration);
        let bare = parts.into_iter().take(2).filter(|part| {
            source.token_text(part.start) == "{" && source.partner(part.start) == Some(part.end - 1)
        });
        for part in bare {
            let (open, close) = (part.start..part.start + 1, part.end - 1..part.end);
            let edits = vec![
                (source.span(open), "dim3(".to_owned()),
                (source.span(close), ")".to_owned()),
            ];
            cx.report(
                &RULE,
                part,
                "clang and hipcc reject braces without a type in a launch.",
                RawFix::safe_edits("Write the type: `dim3`", edits),
            );
        }
    }
}

/// For a `<<<` at `open`, the end of it and the start of `>>>`, if spaces are in one of them.
fn spaced(source: &Source<'_>, open: u32) -> Option<(u32, u32)> {
    let start = match source.token_text(open) {
        "<<<" => open + 1,
        "<" if source.reads(open, &["<", "<", "<"]) => open + 3,
        _ => return None,
    };
    let close = source.configuration_end(open, start, &[">", ">", ">", "("])?;
    let is_joined = source.span(close..close + 3).len() == 3;
    (start == open + 3 || !is_joined).then_some((start, close))
}
