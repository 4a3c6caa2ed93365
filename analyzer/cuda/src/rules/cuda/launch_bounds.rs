//! HW913: the second number of `__launch_bounds__`.

use crate::Checker;
use hipward_analyzer_core::diagnostic::Suggestion;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__launch_bounds__` with a second argument (one finding in a file), or with more than 1024 threads.
    ///
    /// ## Why on ROCm
    ///
    /// The second argument means something else. In CUDA it is the least number of blocks on a multiprocessor; in HIP it is
    /// the least number of wavefronts on an execution unit (a SIMD, four of which make a compute unit). A number that was
    /// chosen for CUDA makes the compiler save registers for an occupancy that nobody asked for, or spill them.
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
    /// Blocks × threads ÷ (64 lanes × 4 execution units) gives the number that asks for the same occupancy: 4 blocks of
    /// 256 threads are 4 wavefronts on each. Measure before setting it.
    ///
    /// ## Fix safety
    ///
    /// Only described: what is best depends on the registers that the kernel needs.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions: launch bounds](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW913" "launch-bounds" {
        title: "The second launch bound counts other things",
        family: CudaCpp,
        severity: Advice,
        also: [Error "for more threads than a block can have"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        cuda: check,
    }
}

fn check(cx: &Checker<'_>) {
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
            let fix = Suggestion::display_only("Launch smaller blocks");
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
    // A choice that a file makes once and repeats; every line of it would be too much.
    let Some((first, same)) = with_second.first().cloned() else {
        return;
    };
    let same = same.map_or(String::new(), |lanes| {
        format!(" (the same occupancy is {})", lanes.div_ceil(256))
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
        Suggestion::display_only("Leave it out, or measure what is best"),
    );
}
