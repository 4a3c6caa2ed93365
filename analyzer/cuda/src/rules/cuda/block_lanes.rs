//! HW921: a block that fills its last wavefront in part.

use super::shared_memory::constant;
use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds launches with a constant block size that is larger than a wavefront of the target and not a multiple of
    /// it: 96 or 160 threads on a GPU with wavefronts of 64 lanes.
    ///
    /// ## Why on ROCm
    ///
    /// A block takes whole wavefronts. 96 threads are three full warps of 32 lanes on an NVIDIA GPU, and two wavefronts
    /// of 64 lanes on an Instinct GPU, of which the second one is half empty: its instructions take as long as those of a
    /// full one.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void scale(float* x) { x[blockIdx.x * 96 + threadIdx.x] *= 2.0f; }
    ///
    /// void launch(float* x, int n) { scale<<<n / 96, 96>>>(x); }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void scale(float* x) { x[blockIdx.x * 128 + threadIdx.x] *= 2.0f; }
    ///
    /// void launch(float* x, int n) { scale<<<n / 128, 128>>>(x); }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the kernel may depend on the block size.
    ///
    /// ## References
    ///
    /// * [HIP performance guidelines](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/performance_guidelines.html)
    "HW921" "block-lanes" {
        title: "The last wavefront of each block is not full",
        family: CudaCpp,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every ROCm target; the size of a wavefront depends on the architecture",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let lanes = u64::from(cx.target.arch.wavefront());
    for launch in source.launches() {
        let configuration = source.arguments(&launch.configuration);
        let Some(block) = configuration.get(1) else {
            continue;
        };
        let Some(threads) = threads(cx, block.clone()) else {
            continue;
        };
        if threads <= lanes || threads % lanes == 0 {
            continue;
        }
        let message = format!(
            "A block of {threads} threads takes {} wavefronts of {lanes} lanes on {}: {} lanes are idle.",
            threads.div_ceil(lanes),
            cx.target.arch.name(),
            lanes - threads % lanes,
        );
        let fix = RawFix::display_only("Launch blocks of a multiple of the wavefront");
        cx.report(&RULE, block.clone(), message, fix);
    }
}

/// The threads of `96` or `dim3(16, 6)`, if every number is known.
fn threads(cx: &CudaChecker<'_>, block: crate::Tokens) -> Option<u64> {
    let source = cx.source;
    if source.token_text(block.start) != "dim3" {
        return constant(source, block);
    }
    let call = source.call(block.start)?;
    source
        .arguments(&call)
        .into_iter()
        .map(|size| constant(source, size))
        .product()
}
