//! HW016: linking with CUDA's libraries.

use crate::checker::FileChecker;
use crate::facts::CmakeCall;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds CUDA's libraries among the libraries to link: CMake's imported targets such as `CUDA::cudart`, and
    /// `-lcudart`, `-lcublas` and similar options in makefiles, and the targets `torch_cuda` and `c10_cuda` of PyTorch's CMake package.
    ///
    /// ## Why on ROCm
    ///
    /// CMake reports that the target `CUDA::cudart` was not found, and the linker that it cannot find `-lcudart`. ROCm has
    /// a library of the same purpose for most of them. hipcc links the HIP runtime without an option.
    ///
    /// ## Example
    ///
    /// ```cmake
    /// add_executable(solve solve.cpp)
    /// target_link_libraries(solve PRIVATE CUDA::cublas)
    /// ```
    ///
    /// ```makefile
    /// LIBS = -L/usr/local/cuda/lib64 -lcudart -lcublas
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cmake
    /// find_package(hipblas REQUIRED)
    /// add_executable(solve solve.cpp)
    /// target_link_libraries(solve PRIVATE roc::hipblas)
    /// ```
    ///
    /// ```makefile
    /// LIBS = -L/opt/rocm/lib -lamdhip64 -lhipblas
    /// ```
    ///
    /// A variable of FindCUDA, such as `${CUDA_cusparse_LIBRARY}`, is empty on a ROCm host: a warning, because the targets may
    /// not need it. Behind a condition on CUDA the severity is info. A file that already uses HIP is not reported. One finding names
    /// all libraries of a command.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the sources have to call the other library.
    ///
    /// ## References
    ///
    /// * [CMake: FindCUDAToolkit, imported targets](https://cmake.org/cmake/help/latest/module/FindCUDAToolkit.html)
    /// * [Using CMake with HIP](https://rocm.docs.amd.com/en/latest/conceptual/cmake-packages.html)
    "HW016" "cuda-libraries" {
        title: "The linker finds no CUDA library on a ROCm host",
        family: BuildFiles,
        severity: Error,
        also: [
            Info "behind a condition on CUDA",
            Warning "for a variable of FindCUDA, and for PyTorch's targets",
        ],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Cmake, Makefile] check,
    }
}

/// A library, and its counterpart for the linker and for CMake.
const LIBRARIES: &[(&str, &str, &str)] = &[
    (
        "cudart",
        "-lamdhip64, which hipcc links itself",
        "hip::host",
    ),
    (
        "cudart_static",
        "-lamdhip64, which hipcc links itself",
        "hip::host",
    ),
    ("cuda", "-lamdhip64, which hipcc links itself", "hip::host"),
    ("cuda_driver", "-lamdhip64", "hip::host"),
    ("cublas", "-lhipblas", "roc::hipblas"),
    ("cublas_static", "-lhipblas", "roc::hipblas"),
    ("cublasLt", "-lhipblaslt", "roc::hipblaslt"),
    ("cufft", "-lhipfft", "hip::hipfft"),
    ("curand", "-lhiprand", "hip::hiprand"),
    ("cusolver", "-lhipsolver", "roc::hipsolver"),
    ("cusparse", "-lhipsparse", "roc::hipsparse"),
    ("cudnn", "-lMIOpen", "MIOpen"),
    ("nccl", "-lrccl", "roc::rccl"),
    ("nvrtc", "-lhiprtc", "hiprtc::hiprtc"),
    ("nvToolsExt", "-lroctx64", "roctx64"),
    ("nvtx3", "-lroctx64", "roctx64"),
    ("nvml", "-lamd_smi", "amd_smi"),
    ("nvidia-ml", "-lamd_smi", "amd_smi"),
    (
        "cupti",
        "rocprofiler-sdk",
        "rocprofiler-sdk::rocprofiler-sdk",
    ),
    ("nppc", "RPP", "RPP"),
];

/// Libraries of PyTorch for CUDA, and their counterparts: targets of its CMake package.
const TORCH: &[(&str, &str)] = &[("torch_cuda", "torch_hip"), ("c10_cuda", "c10_hip")];

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    if cx.language == Language::Cmake {
        for call in &cx.facts.cmake_calls {
            if ["target_link_libraries", "link_libraries", "list"]
                .iter()
                .any(|name| call.is(name))
            {
                report(cx, call.guarded, call.arguments.iter().copied(), "CUDA::");
                report(cx, call.guarded, call.arguments.iter().copied(), "${CUDA_");
                report(cx, call.guarded, call.arguments.iter().copied(), "-l");
            }
            if call.is("target_link_libraries") {
                report_torch(cx, call);
            }
        }
        return;
    }
    for setting in &cx.facts.settings {
        report(cx, setting.guarded, setting.value.words(), "-l");
    }
    for command in &cx.facts.commands {
        report(cx, command.guarded, command.words.iter().copied(), "-l");
    }
}

fn report_torch(cx: &FileChecker<'_>, call: &CmakeCall<'_>) {
    let found = call.arguments.iter().skip(1).find_map(|word| {
        let row = TORCH.iter().find(|(name, _)| *name == word.as_str())?;
        Some((word, row))
    });
    if let Some((word, (name, counterpart))) = found {
        let fix = RawFix::display_only(format!("For ROCm: {counterpart}, or ${{TORCH_LIBRARIES}}"));
        let message = format!(
            "PyTorch for ROCm has {counterpart} instead of {name}, so its functions are missing at the link step."
        );
        cx.report(&RULE, Severity::Warning, word.range(), message, fix);
    }
}

/// One finding for the libraries after `prefix`, at the first of them.
fn report<'a>(
    cx: &FileChecker<'_>,
    guarded: bool,
    words: impl Iterator<Item = Text<'a>>,
    prefix: &str,
) {
    let mut at = None;
    let mut names = Vec::new();
    let mut counterparts = Vec::new();
    for word in words {
        let Some((_, option, target)) = word.as_str().strip_prefix(prefix).and_then(|name| {
            // `${CUDA_CUFFT_LIBRARIES}` of FindCUDA
            let name = name.split("_LIBRAR").next().unwrap_or_default();
            LIBRARIES
                .iter()
                .find(|(known, ..)| known.eq_ignore_ascii_case(name))
        }) else {
            continue;
        };
        at = at.or(Some(word.range()));
        names.push(word.as_str());
        let counterpart = if prefix == "-l" { option } else { target };
        if !counterparts.contains(counterpart) {
            counterparts.push(counterpart);
        }
    }
    let Some(at) = at else {
        return;
    };
    let (severity, message) = if guarded {
        (
            Severity::Info,
            format!(
                "{} is for CUDA; HIP needs a separate branch.",
                names.join(", ")
            ),
        )
    } else if prefix.starts_with('$') {
        (
            Severity::Warning,
            format!(
                "FindCUDA sets {}, so it is empty on a ROCm host, and its functions are missing at the link step.",
                names.join(", ")
            ),
        )
    } else {
        (
            Severity::Error,
            format!(
                "A ROCm host does not have {}, so the link step fails.",
                names.join(", ")
            ),
        )
    };
    let fix = RawFix::display_only(format!("For ROCm: {}", counterparts.join(", ")));
    cx.report(&RULE, severity, at, message, fix);
}
