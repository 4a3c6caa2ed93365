//! HW114: loading CUDA's shared libraries by name.

use crate::checker::{Checker, Suggestion};
use crate::semantic::{folded, is_import_guarded};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `ctypes.CDLL`, `ctypes.cdll.LoadLibrary` and `ctypes.util.find_library` with a library of CUDA, unless the failure is
    /// dealt with.
    ///
    /// ## Why on ROCm
    ///
    /// The library is not there: `CDLL` raises `OSError`, and `find_library` gives `None`. ROCm has its own under other names:
    /// `libamdhip64.so` for the runtime and the driver, `libhiprtc.so`, `librccl.so`, `libhipblas.so`, `libhipfft.so`,
    /// `libMIOpen.so`, `libamd_smi.so`. RCCL kept NCCL's function names; the others renamed them, `cudaMalloc` to `hipMalloc`.
    ///
    /// ## Example
    ///
    /// ```python
    /// import ctypes
    ///
    /// nccl = ctypes.CDLL("libnccl.so.2")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import ctypes
    ///
    /// nccl = ctypes.CDLL("librccl.so.1")
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe, and offered for NCCL alone, whose functions RCCL has under the same names. For the others the functions change too.
    ///
    /// ## References
    ///
    /// * [RCCL](https://rocm.docs.amd.com/projects/rccl/en/latest/)
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW114" "cuda-shared-library" {
        title: "A shared library of CUDA is loaded by name",
        family: VendorLibraries,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/02-vendor-libraries"),
        visit: [Call],
    }
}
const LOADERS: &[&str] = &[
    "ctypes.CDLL",
    "ctypes.PyDLL",
    "ctypes.cdll.LoadLibrary",
    "ctypes.util.find_library",
];

/// A library by the name that a linker takes, and ROCm's.
const LIBRARIES: &[(&str, &str)] = &[
    ("nccl", "librccl.so.1"),
    ("cudart", "libamdhip64.so"),
    ("cuda", "libamdhip64.so"),
    ("nvidia-ml", "libamd_smi.so"),
    ("nvrtc", "libhiprtc.so"),
    ("cublas", "libhipblas.so"),
    ("cublasLt", "libhipblaslt.so"),
    ("cudnn", "libMIOpen.so"),
    ("cufft", "libhipfft.so"),
    ("curand", "libhiprand.so"),
    ("cusparse", "libhipsparse.so"),
    ("cusolver", "libhipsolver.so"),
    ("nvToolsExt", "libroctx64.so"),
    ("cupti", "librocprofiler-sdk.so"),
    ("cufile", "libhipfile.so"),
];

fn check(cx: &Checker<'_>, call: Node) {
    let Some(function) = cx.callee(call).filter(|name| name.is_any(LOADERS)) else {
        return;
    };
    let tree = cx.tree();
    let Some(argument) = tree
        .child(call, Field::Arguments)
        .and_then(|arguments| tree.parts(arguments).next())
    else {
        return;
    };
    let Some(path) = folded(&cx.semantics, argument) else {
        return;
    };
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.split(".so").next().unwrap_or_default();
    let bare = stem.strip_prefix("lib");
    // `find_library` takes the name without `lib`, the others with it.
    let Some(name) = bare.or_else(|| (function.last() == "find_library").then_some(stem)) else {
        return;
    };
    let Some((_, rocm)) = LIBRARIES.iter().find(|(cuda, _)| *cuda == name) else {
        return;
    };
    if is_import_guarded(&cx.semantics, call, &["OSError", "FileNotFoundError"]) {
        return;
    }
    let title = format!("Load {rocm}");
    let fix = if *rocm == "librccl.so.1" && bare.is_some() && tree.kind(argument) == Kind::String {
        let text = tree.text(argument).replace(file, rocm);
        Suggestion::unsafe_edits(title, vec![(tree.span(argument), text)])
    } else {
        Suggestion::display_only(title)
    };
    cx.report(
        &RULE,
        call,
        format!("A ROCm host does not have {file}; what it does is in {rocm} there."),
        fix,
    );
}
