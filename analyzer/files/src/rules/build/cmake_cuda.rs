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
    /// `project(… LANGUAGES … CUDA)`, the functions of FindCUDA such as `cuda_add_library`, a search for nvcc or TensorRT, and options that
    /// request CUDA on the command line of `cmake` and `make`, such as `-DGGML_CUDA=ON`.
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
        files: [Cmake, Shell, Dockerfile, Yaml] check,
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
    for setting in cx.facts.settings.iter().filter(|setting| !setting.guarded) {
        if setting.key.as_str() == "CMAKE_ARGS" {
            options(cx, setting.value.unquoted());
        }
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        if matches!(command.program(), "cmake" | "make") {
            command.words.iter().for_each(|word| options(cx, *word));
        }
    }
    for call in &cx.facts.cmake_calls {
        let Some((at, instead)) = asks(call) else {
            continue;
        };
        let says = |word: &str| call.arguments.iter().any(|one| one.as_str() == word);
        let searches = call.is("find_package") || call.is("find_program");
        let optional = searches && !says("REQUIRED");
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

/// `-DGGML_CUDA=ON`, also in `CMAKE_ARGS`; `make LLAMA_CUBLAS=1`
fn options(cx: &FileChecker<'_>, text: Text<'_>) {
    for word in text.words() {
        let asks = |(name, value): &(Text<'_>, Text<'_>)| {
            let name = name.as_str();
            let is_on = ["on", "1", "true", "yes"]
                .iter()
                .any(|on| value.unquoted().as_str().eq_ignore_ascii_case(on));
            is_on && (name.ends_with("CUDA") || name.ends_with("CUBLAS"))
                || name == "-DCUDA_TOOLKIT_ROOT_DIR"
        };
        if word.split_once('=').as_ref().is_some_and(asks) {
            cx.report(
                &RULE,
                Severity::Error,
                word.range(),
                "This requests a build with CUDA, which a ROCm host does not have.",
                RawFix::display_only("Use the project's option for HIP, such as -DGGML_HIP=ON"),
            );
        }
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
    // `find_program(HAS_NVCC nvcc)`, before an option is set.
    if call.is("find_program") {
        let nvcc = call.arguments.iter().find(|word| word.as_str() == "nvcc")?;
        return Some((*nvcc, "For ROCm: find_package(hip)"));
    }
    // The functions of FindCUDA, and of RAPIDS.
    let name = call.name.as_str().to_ascii_lowercase();
    if ["cuda_add_library", "cuda_add_exec", "rapids_cuda_init"]
        .iter()
        .any(|start| name.starts_with(start))
    {
        return Some((call.name, "For ROCm: enable_language(HIP) and add_library"));
    }
    if call.is("find_library") || call.is("find_path") {
        let is_tensorrt = |word: &&Text<'a>| matches!(word.as_str(), "nvinfer" | "NvInfer.h");
        let word = call.arguments.iter().find(is_tensorrt)?;
        return Some((*word, "For ROCm: find_package(migraphx)"));
    }
    let words = if call.is("enable_language") || call.is("set_source_files_properties") {
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
