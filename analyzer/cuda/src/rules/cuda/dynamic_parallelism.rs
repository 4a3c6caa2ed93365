//! HW916: kernels that launch kernels.

use crate::{CudaChecker, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::sort;

declare_rule! {
    /// ## What it does
    ///
    /// Finds a kernel launch inside a `__global__` or `__device__` function.
    ///
    /// ## Why on ROCm
    ///
    /// HIP has no dynamic parallelism: only the host launches kernels. The compiler rejects the launch.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void child(int* x);
    ///
    /// __global__ void parent(int* x) {
    ///     if (threadIdx.x == 0) child<<<1, 64>>>(x);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void child(int* x);
    /// __global__ void parent(int* x);
    ///
    /// void run(int* x) {
    ///     parent<<<1, 64>>>(x);
    ///     child<<<1, 64>>>(x);
    /// }
    /// ```
    ///
    /// If the amount of work is known only on the device, write it to memory, and process it with a persistent kernel
    /// or with a second launch from the host.
    ///
    /// ## Fix safety
    ///
    /// Display-only.
    ///
    /// ## References
    ///
    /// * [HIP: unsupported CUDA features](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW916" "dynamic-parallelism" {
        title: "Kernels can't launch kernels",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let bodies: Vec<Tokens> = ["__global__", "__device__"]
        .iter()
        .flat_map(|qualifier| source.places(qualifier))
        .filter_map(|at| source.body_after(*at))
        .collect();
    // Functions are not nested: a launch is in the last function that begins before it.
    let bodies = sort::by_key(bodies, |body| [body.start as usize, 0, 0]);
    for launch in source.launches() {
        let after = bodies.partition_point(|body| body.start < launch.name);
        let body = after.checked_sub(1).and_then(|last| bodies.get(last));
        if body.is_some_and(|body| body.contains(&launch.name)) {
            cx.report(
                &RULE,
                launch.name..launch.configuration.start + 1,
                "HIP has no dynamic parallelism: only the host launches kernels.",
                RawFix::display_only("Launch from the host"),
            );
        }
    }
}
