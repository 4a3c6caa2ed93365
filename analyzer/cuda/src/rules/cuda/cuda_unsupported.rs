//! HW903: names of CUDA's that HIP has nothing for.

use crate::{Checker, Name, is_the_projects, name};
use hipward_analyzer_core::diagnostic::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Finds functions, types and constants of CUDA's that HIP and its libraries have no counterpart of.
    ///
    /// ## Why on ROCm
    ///
    /// About a third of what CUDA's headers declare does not exist in HIP: newer graph nodes, clusters and tensor maps,
    /// texture formats, parts of cuSOLVER and cuSPARSE. A converter that replaces `cuda` by `hip` invents a name here,
    /// and the linker finds out. This rule says it at the line, and proposes no name.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// void describe(CUtensorMap* map);
    /// ```
    ///
    /// ## Use instead
    ///
    /// Keep the part for NVIDIA behind a guard, with a path of its own for AMD:
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// #ifndef USE_ROCM
    /// void describe(CUtensorMap* map);
    /// #endif
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Only described: what to do instead depends on what the call was for.
    ///
    /// ## References
    ///
    /// * [Supported CUDA APIs](https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html)
    "HW903" "cuda-unsupported" {
        title: "HIP has no counterpart",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        cuda: check,
    }
}

fn check(cx: &Checker<'_>) {
    let mut found: Vec<_> = cx
        .source
        .words()
        .filter(|(word, _)| name(word) == Some(Name::Unsupported))
        .filter(|(word, _)| !is_the_projects(cx.source, word))
        .flat_map(|(word, _)| cx.uses(word).map(move |at| (at, word)))
        .collect();
    found.sort_unstable();
    for (at, word) in found {
        cx.report(
            &RULE,
            at..at + 1,
            format!("HIP has no counterpart of `{word}`."),
            Suggestion::display_only("Guard it with `#ifndef USE_ROCM` and write AMD's path"),
        );
    }
}
