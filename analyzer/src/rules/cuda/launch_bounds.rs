//! HW913: the second number of `__launch_bounds__`.

use crate::cuda::{Checker, Kind};
use crate::draft::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__launch_bounds__` with a second argument, or with more than 1024 threads.
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
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        cuda: check,
    }
}

fn check(cx: &Checker<'_>) {
    let source = cx.source;
    for at in cx.uses("__launch_bounds__") {
        let Some(call) = source.call(at) else {
            continue;
        };
        let arguments = source.arguments(&call);
        let number = |index: usize| -> Option<u64> {
            let argument = arguments.get(index)?;
            let is_number = argument.len() == 1 && source.kind(argument.start) == Kind::Number;
            source
                .slice(argument.clone())
                .parse()
                .ok()
                .filter(|_| is_number)
        };
        let span = at..call.end;
        if number(0).is_some_and(|threads| threads > 1024) {
            let message = format!(
                "A block has at most 1024 threads on {}.",
                cx.target.arch.name()
            );
            cx.report(
                &RULE,
                span,
                message,
                Suggestion::display_only("Launch smaller blocks"),
            );
        } else if arguments.len() > 1 && number(1) != Some(1) {
            let same = match (number(0), number(1)) {
                (Some(threads), Some(blocks)) => {
                    format!(
                        "; the same occupancy is {}",
                        (threads * blocks).div_ceil(256)
                    )
                }
                _ => String::new(),
            };
            let message = format!(
                "The second number counts blocks on a multiprocessor in CUDA, wavefronts on an execution unit in HIP{same}."
            );
            cx.report(
                &RULE,
                span,
                message,
                Suggestion::display_only("Leave it out, or measure what is best"),
            );
        }
    }
}
