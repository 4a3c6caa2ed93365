//! HW913: the second argument of `__launch_bounds__`.

use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__launch_bounds__` with a second argument (one finding per file), or with more than 1024 threads.
    ///
    /// ## Why on ROCm
    ///
    /// The second argument has a different meaning. In CUDA it is the minimum number of blocks per multiprocessor; in
    /// HIP it is the minimum number of wavefronts per execution unit (a SIMD, four of which form a compute unit). A
    /// number that was chosen for CUDA makes the compiler reduce or spill registers for an occupancy that was not
    /// intended.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void __launch_bounds__(256, 4) k(float* x);
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void __launch_bounds__(256) k(float* x);
    /// ```
    ///
    /// Blocks × threads ÷ (lanes of a wavefront × 4 execution units) is the number for the same occupancy: 4 blocks of 256 threads
    /// are 4 wavefronts of 64 lanes on each. Measure before setting it.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the best value depends on the number of registers that the kernel needs.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions: launch bounds](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW913" "launch-bounds" {
        title: "The second launch bound has another unit",
        family: CudaCpp,
        severity: Advice,
        also: [Error "for more threads than a block can have"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

/// SIMDs of a compute unit; on RDNA, of a workgroup processor.
const EXECUTION_UNITS: u64 = 4;

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let mut with_second = Vec::new();
    for at in cx.uses("__launch_bounds__") {
        let Some(call) = source.call(at) else {
            continue;
        };
        let arguments = source.arguments(&call);
        let number = |index: usize| -> Option<u64> {
            source.slice(arguments.get(index)?.clone()).parse().ok()
        };
        if number(0).is_some_and(|threads| threads > 1024) {
            let message = format!(
                "A block has at most 1024 threads on {}.",
                cx.target.arch.name()
            );
            let fix = RawFix::display_only("Launch smaller blocks");
            cx.report_as(
                &RULE,
                Severity::Error,
                HandledBy::You,
                at..call.end,
                message,
                fix,
            );
        } else if arguments.len() > 1 && number(1) != Some(1) {
            let same = number(0)
                .zip(number(1))
                .and_then(|(threads, blocks)| threads.checked_mul(blocks));
            with_second.push((at..call.end, same));
        }
    }
    // A file often repeats the same setting; a finding for every line would be too many.
    let Some((first, same)) = with_second.first().cloned() else {
        return;
    };
    let lanes = EXECUTION_UNITS * u64::from(cx.target.arch.wavefront());
    let same = same.map_or(String::new(), |threads| {
        format!(" (the same occupancy is {})", threads.div_ceil(lanes))
    });
    let more = match with_second.len() {
        1 => String::new(),
        lines => format!(" {lines} kernels of this file have one."),
    };
    let message = format!(
        "The second number counts blocks on a multiprocessor in CUDA, wavefronts on an execution unit in HIP{same}.{more}"
    );
    cx.report(
        &RULE,
        first,
        message,
        RawFix::display_only("Remove it, or measure the best value"),
    );
}
