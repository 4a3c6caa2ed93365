//! HW903: CUDA names without a HIP equivalent.

use crate::{CudaChecker, Kind, Name, RocName, is_the_projects, name};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::sort;

declare_rule! {
    /// ## What it does
    ///
    /// Finds functions, types and constants of CUDA that have no equivalent in HIP and its libraries, and NVRTC's option for an
    /// NVIDIA architecture. CUB's `CubDebugExit` is one of them: hipCUB has `HipcubDebug`, which does not exit.
    ///
    /// ## Why on ROCm
    ///
    /// About a third of the declarations in CUDA's headers do not exist in HIP: newer graph nodes, clusters and tensor
    /// maps, texture formats, parts of cuSOLVER and cuSPARSE. A converter that replaces `cuda` by `hip` invents a name
    /// here, and the error appears only at link time. This rule reports the line and suggests no name.
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
    /// Put the code for NVIDIA behind a guard, with a separate path for AMD:
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
    /// Display-only: the replacement depends on the purpose of the call.
    ///
    /// ## References
    ///
    /// * [Supported CUDA APIs](https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html)
    "HW903" "cuda-unsupported" {
        title: "No HIP equivalent for a CUDA name",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    // nvcc's and NVRTC's names of architectures
    let is_option = |at: &u32| {
        let text = cx.source.token_text(*at);
        cx.source.kind(*at) == Kind::Text
            && ["compute_", "sm_"]
                .iter()
                .any(|arch| text.contains("--gpu-architecture=") && text.contains(arch))
    };
    for at in (0..cx.source.token_count()).filter(is_option) {
        cx.report(
            &RULE,
            at..at + 1,
            "hipRTC has no such architecture: the compilation fails.",
            RawFix::display_only("Pass `--offload-arch` with the name of the AMD GPU, or nothing"),
        );
    }
    let is_in_miopen = |word: &str| match cx.roc_name(word) {
        Some(RocName::Unsupported) => Some(false),
        Some(RocName::Known(..)) => Some(true),
        None => None,
    };
    let found: Vec<_> = cx
        .source
        .words()
        .filter(|(word, _)| match is_in_miopen(word) {
            Some(known) => !known,
            None => name(word) == Some(Name::Unsupported),
        })
        .filter(|(word, _)| !is_the_projects(cx.source, word))
        .flat_map(|(word, _)| cx.uses(word).map(move |at| (at, word)))
        .collect();
    for (at, word) in sort::by_key(found, |(at, _)| [*at as usize, 0, 0]) {
        let library = match is_in_miopen(word) {
            Some(_) => "MIOpen",
            None => "HIP",
        };
        cx.report(
            &RULE,
            at..at + 1,
            format!("{library} has no equivalent of `{word}`."),
            RawFix::display_only(match word {
                "CubDebugExit" => "Define it for AMD, with `HipcubDebug`",
                "__trap" => "Call `abort()` or `__builtin_trap()` on AMD",
                _ => "Guard it with `#ifndef USE_ROCM` and write AMD's path",
            }),
        );
    }
}
