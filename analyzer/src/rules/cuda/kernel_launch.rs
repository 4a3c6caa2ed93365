//! HW904: kernel launches as a macro call, for those who ask for it.

use crate::cuda::{Checker, Setting};
use crate::draft::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Rewrites `kernel<<<grid, block, bytes, stream>>>(…)` as `hipLaunchKernelGGL(…)`. It runs only when it is
    /// selected by name: `--select kernel-launch`.
    ///
    /// ## Why on ROCm
    ///
    /// clang and hipcc compile `<<<…>>>` as it is, so nothing has to change. `hipLaunchKernelGGL` is for sources that a
    /// C++ compiler without HIP's syntax has to read too.
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
    ///     hipLaunchKernelGGL((scale<float, 4>), dim3(2, 2), dim3(256), 0, stream, x, max(1.0f, 2.0f));
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the macro evaluates the same expressions, but a macro that stands for the kernel's name or for several
    /// arguments at once may expand otherwise.
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
        lesson: None,
        on_request: true,
        cuda: check,
    }
}

fn check(cx: &Checker<'_>) {
    if cx.setting == Setting::PyTorchExtension {
        return;
    }
    let source = cx.source;
    for launch in source.launches() {
        let configuration = source.arguments(&launch.configuration);
        let part = |index: usize| {
            configuration
                .get(index)
                .map(|part| source.slice(part.clone()))
        };
        let (Some(grid), Some(block)) = (part(0), part(1)) else {
            continue;
        };
        let dimensions = |text: &str| {
            if text.starts_with("dim3") {
                text.to_owned()
            } else {
                format!("dim3({text})")
            }
        };
        let kernel = source.slice(launch.name..launch.configuration.start);
        let kernel = if kernel.contains(',') {
            format!("({kernel})")
        } else {
            kernel.to_owned()
        };
        let arguments = source.slice(launch.arguments.start + 1..launch.arguments.end - 1);
        let comma = if launch.arguments.len() > 2 { ", " } else { "" };
        let call = format!(
            "hipLaunchKernelGGL({kernel}, {}, {}, {}, {}{comma}{arguments})",
            dimensions(grid),
            dimensions(block),
            part(2).unwrap_or("0"),
            part(3).unwrap_or("0"),
        );
        let whole = source.span(launch.name..launch.arguments.end);
        cx.report(
            &RULE,
            launch.name..launch.arguments.end,
            "A HIP compiler takes this launch as it is; other compilers need the macro.",
            Suggestion::unsafe_edits("Call `hipLaunchKernelGGL`", vec![(whole, call)]),
        );
    }
}
