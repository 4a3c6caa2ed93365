//! HW114: loading CUDA shared libraries by name.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{first, has_text};
use crate::semantic::{Value, folded, is_import_guarded};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `ctypes.CDLL`, `ctypes.cdll.LoadLibrary` and `ctypes.util.find_library` with a CUDA library, and functions of
    /// the source that search for one in `/proc/self/maps`, unless the code handles the failure. Also finds such libraries in
    /// a list of paths, of which the source loads the first that exists.
    ///
    /// ## Why on ROCm
    ///
    /// The library does not exist on a ROCm host: `CDLL` raises `OSError`, and `find_library` returns `None`. ROCm's
    /// libraries have other names: `libamdhip64.so` for the runtime and the driver, `libhiprtc.so`, `librccl.so`,
    /// `libhipblas.so`, `libhipfft.so`, `libMIOpen.so`, `libamd_smi.so`. RCCL has the same function names as NCCL; the
    /// other libraries renamed their functions, for example `cudaMalloc` to `hipMalloc`.
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
    /// Unsafe, and offered only for NCCL, because RCCL's functions have the same names. For the other libraries the
    /// function names change too.
    ///
    /// ## References
    ///
    /// * [RCCL](https://rocm.docs.amd.com/projects/rccl/en/latest/)
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW114" "cuda-shared-library" {
        title: "A CUDA shared library is loaded by name",
        family: VendorLibraries,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [Call],
    }
}
pub(in crate::rules) const LOADERS: &[&str] = &[
    "ctypes.CDLL",
    "ctypes.PyDLL",
    "ctypes.cdll.LoadLibrary",
    "ctypes.util.find_library",
];

/// A library under its linker name, and the ROCm library.
pub(in crate::rules) const LIBRARIES: &[(&str, &str)] = &[
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

fn check(cx: &PythonChecker<'_>, call: Node) {
    let tree = cx.tree();
    let loader = cx.callee(call).filter(|name| name.is_any(LOADERS));
    if loader.is_none() && !finds_loaded_library(cx, call) {
        return;
    }
    let Some(argument) = first(cx, call) else {
        return;
    };
    // A message about a library has spaces.
    let path = folded(&cx.semantics, argument);
    let Some(path) = path.filter(|path| !path.contains(' ')) else {
        return;
    };
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.split(".so").next().unwrap_or_default();
    let bare = stem.strip_prefix("lib");
    // `find_library` takes the name without `lib`, the other functions with it.
    let Some(name) = bare.or_else(|| {
        loader
            .is_some_and(|function| function.last() == "find_library")
            .then_some(stem)
    }) else {
        return;
    };
    let Some((_, rocm)) = LIBRARIES.iter().find(|(cuda, _)| *cuda == name) else {
        return;
    };
    if is_import_guarded(&cx.semantics, call, &["OSError", "FileNotFoundError"]) {
        return;
    }
    let title = format!("Load {rocm}{}", other_names(cx));
    let fix = if *rocm == "librccl.so.1" && bare.is_some() && tree.kind(argument) == Kind::String {
        let text = tree.text(argument).replace(file, rocm);
        RawFix::unsafe_edits(title, vec![(tree.span(argument), text)])
    } else {
        RawFix::display_only(title)
    };
    cx.report(
        &RULE,
        call,
        format!("A ROCm host does not have {file}; the equivalent there is {rocm}."),
        fix,
    );
}

/// The first function that the source calls, as an example.
fn other_names(cx: &PythonChecker<'_>) -> String {
    let tree = cx.tree();
    let mut names = tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::Attribute)
        .filter_map(|node| {
            tree.text(tree.child(node, Field::Attribute)?)
                .strip_prefix("cuda")
        })
        .filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let name = names.next();
    name.map_or_else(String::new, |name| {
        format!("; its functions have other names: hip{name} for cuda{name}")
    })
}

/// `find_loaded_library("libcudart")`: a function of this source that searches the libraries of its process.
fn finds_loaded_library(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    has_text(cx, "/proc/self/maps")
        && tree
            .child(call, Field::Function)
            .and_then(|function| cx.semantics.binding(function))
            .is_some_and(|function| matches!(function.value, Value::Function(_)))
        && !cx.mentions_hip()
}
