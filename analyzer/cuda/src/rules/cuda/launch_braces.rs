//! HW920: grid and block in braces without a type.

use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds kernel launches whose grid or block is written in braces without a type: `kernel<<<{x, y}, 256>>>(…)`.
    ///
    /// ## Why on ROCm
    ///
    /// nvcc accepts braces in a launch. clang, which hipcc calls, does not: it reports `expected expression`. With the
    /// type before the braces, both compile it to the same code.
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
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the same three numbers, for both vendors.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW920" "launch-braces" {
        title: "clang does not accept braces for a launch's grid or block",
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
