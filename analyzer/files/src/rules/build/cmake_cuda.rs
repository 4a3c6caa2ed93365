//! HW007: CMake commands that require CUDA.

use crate::checker::FileChecker;
use crate::facts::CmakeCall;
use crate::text::Text;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `find_package(CUDA…)`, `find_package(CUDAToolkit…)`, `find_package(CUDNN)`, `enable_language(CUDA)` and
    /// `project(… LANGUAGES … CUDA)`.
    ///
    /// ## Why on ROCm
    ///
    /// CMake searches for nvcc, does not find it, and stops. CMake has supported HIP as a language since 3.21, in the
    /// same way: `enable_language(HIP)`, `CMAKE_HIP_ARCHITECTURES`, and the libraries through `find_package(hip)` and
    /// `find_package(hipblas)`.
    ///
    /// ## Example
    ///
    /// ```cmake
    /// cmake_minimum_required(VERSION 3.21)
    /// project(ops LANGUAGES CXX CUDA)
    /// find_package(CUDAToolkit REQUIRED)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cmake
    /// cmake_minimum_required(VERSION 3.21)
    /// project(ops LANGUAGES CXX)
    /// option(USE_ROCM "Build for AMD GPUs" OFF)
    /// if(USE_ROCM)
    ///   enable_language(HIP)
    ///   find_package(hip REQUIRED)
    /// else()
    ///   enable_language(CUDA)
    ///   find_package(CUDAToolkit REQUIRED)
    /// endif()
    /// ```
    ///
    /// Behind an option for CUDA the severity is info. A file that already uses HIP is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the sources have to be compiled as HIP too.
    ///
    /// ## References
    ///
    /// * [Using CMake with HIP](https://rocm.docs.amd.com/en/latest/conceptual/cmake-packages.html)
    /// * [CMake: HIP_ARCHITECTURES](https://cmake.org/cmake/help/latest/prop_tgt/HIP_ARCHITECTURES.html)
    "HW007" "cmake-cuda" {
        title: "CMake finds no CUDA on a ROCm host",
        family: BuildFiles,
        severity: Error,
        also: [
            Warning "for a package that is not required",
            Info "for a package with QUIET, and behind a condition on CUDA",
        ],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Cmake] check,
    }
}

const PACKAGES: &[&str] = &[
    "CUDA",
    "CUDAToolkit",
    "CUDNN",
    "cuDNN",
    "NVTX",
    "NVSHMEM",
    "TensorRT",
];

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    for call in &cx.facts.cmake_calls {
        let Some((at, instead)) = asks(call) else {
            continue;
        };
        let says = |word: &str| call.arguments.iter().any(|one| one.as_str() == word);
        let optional = call.is("find_package") && !says("REQUIRED");
        let (severity, message) = if call.guarded {
            (
                Severity::Info,
                "This option stays off on ROCm, so its targets are not built; HIP needs a separate branch.",
            )
        } else if optional {
            (
                // With QUIET, CMake continues without the package.
                if says("QUIET") {
                    Severity::Info
                } else {
                    Severity::Warning
                },
                "A ROCm host has no CUDA, so the targets that depend on it are not built.",
            )
        } else {
            (
                Severity::Error,
                "CMake stops here on a ROCm host: there is no CUDA to find.",
            )
        };
        cx.report(
            &RULE,
            severity,
            at.range(),
            message,
            RawFix::display_only(instead),
        );
    }
}

/// The word that requests CUDA, and the command that requests HIP.
fn asks<'a>(call: &CmakeCall<'a>) -> Option<(Text<'a>, &'static str)> {
    let is_cuda = |word: &&Text<'a>| word.as_str() == "CUDA";
    if call.is("find_package") {
        let first = call.arguments.first()?;
        return PACKAGES.contains(&first.as_str()).then_some((
            *first,
            "For ROCm: find_package(hip) and the hip… library of the same purpose",
        ));
    }
    let words = if call.is("enable_language") {
        call.arguments.as_slice()
    } else if call.is("project") {
        call.arguments.get(1..)?
    } else {
        return None;
    };
    words
        .iter()
        .find(is_cuda)
        .map(|word| (*word, "For ROCm: enable_language(HIP)"))
}
