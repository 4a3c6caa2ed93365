//! HW911: NVIDIA's libraries whose counterpart is another library.

use crate::Checker;
use hipward_analyzer_core::diagnostic::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the headers of NVIDIA's libraries that are no renaming away: CUTLASS and CuTe, cuDNN, TensorRT, NVML, CUPTI,
    /// cuSPARSELt, cuTENSOR, cuFile, NVSHMEM, nvJPEG, NPP, OptiX. One finding for a library in a file.
    ///
    /// ## Why on ROCm
    ///
    /// AMD has a library for most of these tasks, with an interface of its own. Composable Kernel is to MFMA what CUTLASS
    /// is to tensor cores, MIOpen has the convolutions of cuDNN, MIGraphX compiles graphs as TensorRT does.
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
    /// Only described: the code that calls the library is written anew.
    ///
    /// ## References
    ///
    /// * [Composable Kernel](https://rocm.docs.amd.com/projects/composable_kernel/en/latest/)
    /// * [MIOpen porting guide](https://rocm.docs.amd.com/projects/MIOpen/en/latest/conceptual/porting-guide.html)
    /// * [MIGraphX](https://rocm.docs.amd.com/projects/AMDMIGraphX/en/latest/)
    "HW911" "nvidia-library" {
        title: "AMD's counterpart is another library",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        cuda: check,
    }
}

/// How its headers begin, what it is, what AMD has.
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
];

fn check(cx: &Checker<'_>) {
    let mut seen: Vec<&str> = Vec::new();
    for (header, token) in cx.source.includes() {
        let file = header.rsplit('/').next().unwrap_or_default();
        let library = LIBRARIES.iter().find(|(begin, ..)| {
            if begin.ends_with('/') {
                header.starts_with(begin)
            } else {
                // Only the library's own: `my/cudnn_wrapper.h` is not.
                file.starts_with(begin) && !header.contains('/')
            }
        });
        let Some((_, name, amd)) = library else {
            continue;
        };
        if !cx.is_for_both(token) || seen.contains(name) {
            continue;
        }
        // A header beside the source belongs to the project: `"cudnn_utils.h"`.
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
            format!("{name} is NVIDIA's; on AMD there is {amd}, with an interface of its own."),
            Suggestion::display_only(format!("Write AMD's path with {amd}")),
        );
    }
}
