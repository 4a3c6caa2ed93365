//! HW911: NVIDIA libraries whose AMD equivalent has another interface.

use crate::lines::also_in;
use crate::{CudaChecker, Source};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::sort;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the headers and namespaces of NVIDIA libraries that cannot be ported by renaming: CUTLASS and CuTe, cuDNN, TensorRT,
    /// NVML, CUPTI, cuSPARSELt, cuTENSOR, cuFile, NVSHMEM, nvJPEG, NPP, OptiX, moderngpu, cuFFTDx and
    /// cuBLASDx. One finding per library and file, at the first use; its message lists the lines of the others.
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
type Library = (&'static str, &'static str, &'static str);

const LIBRARIES: &[Library] = &[
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

/// The namespaces of libraries, and the library's name.
const NAMESPACES: &[(&str, &str)] = &[
    ("cutlass", "CUTLASS"),
    ("cute", "CuTe"),
    ("flashinfer", "FlashInfer"),
    ("nvinfer1", "TensorRT"),
    ("mgpu", "moderngpu"),
];

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let mut uses: Vec<(u32, &Library)> = source
        .includes()
        .filter_map(|(header, token)| Some((token, library(cx, header, token)?)))
        .collect();
    for (namespace, name) in NAMESPACES {
        let library = LIBRARIES.iter().find(|(_, library, _)| library == name);
        let places = uses_of_namespace(source, namespace);
        uses.extend(
            library
                .into_iter()
                .flat_map(|it| places.clone().map(move |at| (at, it))),
        );
    }
    uses.retain(|(token, _)| cx.is_for_both(*token));
    let uses = sort::by_key(uses, |(token, _)| [*token as usize, 0, 0]);
    let mut seen: Vec<&str> = Vec::new();
    for (at, (first, (_, name, amd))) in uses.iter().enumerate() {
        if seen.contains(name) {
            continue;
        }
        seen.push(name);
        let others = uses[at + 1..].iter().filter(|(_, other)| other.1 == *name);
        cx.report(
            &RULE,
            *first..*first + 1,
            format!(
                "{name} is for NVIDIA GPUs; AMD has {amd}, with a different interface.{}",
                also_in(cx, *first, others.map(|(token, _)| *token))
            ),
            RawFix::display_only(format!("Write a path for AMD with {amd}")),
        );
    }
}

/// The library that a header belongs to.
fn library(cx: &CudaChecker<'_>, header: &str, token: u32) -> Option<&'static Library> {
    let file = header.rsplit('/').next().unwrap_or_default();
    // A header in the same folder as the source belongs to the project: `"cudnn_utils.h"`.
    let is_own =
        cx.source.token_text(token).starts_with('"') && file.contains('_') && !header.contains('/');
    // Converted to AMD's header by `cuda-header`.
    if is_own || cx.amd_header(header).is_some() {
        return None;
    }
    LIBRARIES.iter().find(|(begin, ..)| {
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
    })
}

/// `cutlass::gemm`, `using namespace cute`. None in a source that adds to the namespace, which is the library's own or a project's.
fn uses_of_namespace<'s>(
    source: &'s Source<'_>,
    namespace: &str,
) -> impl Iterator<Item = u32> + Clone + 's {
    let places = source.places(namespace);
    let opens = |at: &u32| source.before(*at, 1) == "namespace" && source.before(*at, 2) != "using";
    let places = if places.iter().any(opens) {
        &[]
    } else {
        places
    };
    places.iter().copied().filter(|at| {
        let is_used = source.token_text(at + 1) == "::" || source.before(*at, 1) == "namespace";
        is_used && !source.is_qualified(*at)
    })
}
