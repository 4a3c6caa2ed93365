//! HW911: NVIDIA libraries whose AMD equivalent has another interface.

use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the headers of NVIDIA libraries that cannot be ported by renaming: CUTLASS and CuTe, cuDNN, TensorRT,
    /// NVML, CUPTI, cuSPARSELt, cuTENSOR, cuFile, NVSHMEM, nvJPEG, NPP, OptiX, moderngpu, cuFFTDx and
    /// cuBLASDx. One finding per library and file.
    ///
    /// ## Why on ROCm
    ///
    /// AMD has a library for most of these tasks, with a different interface. Composable Kernel is the equivalent of
    /// CUTLASS for MFMA, MIOpen has the convolutions of cuDNN, and MIGraphX compiles graphs as TensorRT does.
    ///
    /// With `[target] libraries = "roc"` in the configuration file, `cuda-api` converts the names of cuDNN that MIOpen has
    /// under another name, and `cuda-unsupported` reports the others.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <cutlass/gemm/device/gemm.h>
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #ifdef USE_ROCM
    /// #include <ck/tensor_operation/gpu/device/impl/device_gemm_xdl_cshuffle.hpp>
    /// #else
    /// #include <cutlass/gemm/device/gemm.h>
    /// #endif
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the code that calls the library has to be rewritten.
    ///
    /// ## References
    ///
    /// * [Composable Kernel](https://rocm.docs.amd.com/projects/composable_kernel/en/latest/)
    /// * [MIOpen porting guide](https://rocm.docs.amd.com/projects/MIOpen/en/latest/conceptual/porting-guide.html)
    /// * [MIGraphX](https://rocm.docs.amd.com/projects/AMDMIGraphX/en/latest/)
    "HW911" "nvidia-library" {
        title: "The AMD equivalent is another library",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("how-to/native-libraries"),
        cuda: check,
    }
}

/// The prefix of its headers, its name, and the AMD equivalent.
const LIBRARIES: &[(&str, &str, &str)] = &[
    (
        "cutlass/",
        "CUTLASS",
        "Composable Kernel, or hipBLASLt for a plain matrix product",
    ),
    (
        "cute/",
        "CuTe",
        "Composable Kernel and its tile programming (ck_tile)",
    ),
    ("cudnn", "cuDNN", "MIOpen"),
    ("ATen/cudnn/", "cuDNN", "MIOpen"),
    ("NvInfer", "TensorRT", "MIGraphX"),
    ("NvOnnx", "TensorRT", "MIGraphX"),
    ("nvml.h", "NVML", "AMD SMI (`amd_smi/amdsmi.h`)"),
    ("cupti", "CUPTI", "ROCprofiler-SDK"),
    ("cusparseLt.h", "cuSPARSELt", "hipSPARSELt"),
    ("cutensor", "cuTENSOR", "hipTensor"),
    ("cufile.h", "cuFile", "hipFile"),
    ("nvshmem", "NVSHMEM", "rocSHMEM"),
    ("nvjpeg", "nvJPEG", "rocJPEG"),
    ("npp", "NPP", "RPP"),
    ("optix", "OptiX", "HIP RT"),
    ("nvjitlink", "nvJitLink", "hipRTC's linker"),
    ("nvJitLink.h", "nvJitLink", "hipRTC's linker"),
    ("cuvid", "the video decoder", "rocDecode"),
    ("nvcuvid", "the video decoder", "rocDecode"),
    ("moderngpu/", "moderngpu", "rocPRIM and rocThrust"),
    ("cufftdx", "cuFFTDx", "rocFFT"),
    ("cublasdx", "cuBLASDx", "rocWMMA"),
    (
        "flashinfer/",
        "FlashInfer",
        "the fork amd-flashinfer, and the attention of aiter",
    ),
];

fn check(cx: &CudaChecker<'_>) {
    let mut seen: Vec<&str> = Vec::new();
    for (header, token) in cx.source.includes() {
        let file = header.rsplit('/').next().unwrap_or_default();
        let library = LIBRARIES.iter().find(|(begin, ..)| {
            if begin.ends_with('/') {
                // Also `/opt/cutlass/include/cutlass/gemm.h`, but not a folder of the project with that name.
                header.match_indices(begin).any(|(at, _)| {
                    let folder = &header[..at];
                    at == 0 || folder.ends_with("include/") || folder.ends_with(begin)
                })
            } else {
                // Only the library's own header: not `my/cudnn_wrapper.h`.
                file.starts_with(begin) && !header.contains('/')
            }
        });
        let Some((_, name, amd)) = library else {
            continue;
        };
        // Converted to AMD's header by `cuda-header`.
        if cx.amd_header(header).is_some() {
            continue;
        }
        if !cx.is_for_both(token) || seen.contains(name) {
            continue;
        }
        // A header in the same folder as the source belongs to the project: `"cudnn_utils.h"`.
        let own = cx.source.token_text(token).starts_with('"')
            && file.contains('_')
            && !header.contains('/');
        if own {
            continue;
        }
        seen.push(name);
        cx.report(
            &RULE,
            token..token + 1,
            format!("{name} is for NVIDIA GPUs; AMD has {amd}, with a different interface."),
            RawFix::display_only(format!("Write a path for AMD with {amd}")),
        );
    }
}
