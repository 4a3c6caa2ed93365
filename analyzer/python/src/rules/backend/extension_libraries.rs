//! HW012: an extension that links CUDA libraries by name.

use crate::checker::{PythonChecker, RawFix};
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `CUDAExtension(…, libraries=["cublas", …])` and the same in `extra_link_args=["-lcublas"]`, in a dictionary of
    /// such arguments, and in `libraries.append("cublas")`.
    ///
    /// ## Why on ROCm
    ///
    /// `CUDAExtension` itself works on ROCm: PyTorch converts the sources and links the HIP runtime in place of CUDA's.
    /// PyTorch does not replace the libraries that a project names, and a ROCm host has no `libcublas`, so the link
    /// fails.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// extension = CUDAExtension("ops", ["ops.cu"], libraries=["cublas"])
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// blas = "hipblas" if torch.version.hip else "cublas"
    /// extension = CUDAExtension("ops", ["ops.cu"], libraries=[blas])
    /// ```
    ///
    /// A source that checks `torch.version.hip` is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: NVIDIA hosts need the original name.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    "HW012" "extension-libraries" {
        title: "The extension links a CUDA library",
        family: BuildFiles,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        visit: [KeywordArgument],
    }
}

/// CUDA libraries, and the ROCm libraries for the same purpose.
const LIBRARIES: &[(&str, &str)] = &[
    ("cublas", "hipblas"),
    ("cublasLt", "hipblaslt"),
    ("cuda", "nothing: the HIP runtime is linked"),
    ("cudart", "nothing: the HIP runtime is linked"),
    ("cudnn", "MIOpen"),
    ("cufft", "hipfft"),
    ("curand", "hiprand"),
    ("cusolver", "hipsolver"),
    ("cusparse", "hipsparse"),
    ("nvrtc", "hiprtc"),
    ("nvToolsExt", "roctx64"),
    ("nvidia-ml", "amd_smi"),
    ("nccl", "rccl"),
];

const EXTENSIONS: &[&str] = &[
    "torch.utils.cpp_extension.CUDAExtension",
    "torch.utils.cpp_extension.load",
    "torch.utils.cpp_extension.load_inline",
];

/// The arguments with libraries. The others contain options: `-lcublas`.
const ARGUMENTS: &[&str] = &["libraries", "extra_link_args", "extra_ldflags"];

fn check(cx: &PythonChecker<'_>, argument: Node) {
    let tree = cx.tree();
    let is_extension = tree
        .parent(argument)
        .and_then(|arguments| tree.parent(arguments))
        .and_then(|call| cx.callee(call))
        .is_some_and(|function| function.is_any(EXTENSIONS));
    if let Some(name) = tree.child(argument, Field::Name).filter(|_| is_extension)
        && let Some(value) = tree.child(argument, Field::Value)
    {
        check_value(cx, tree.text(name), value);
    }
}

/// Reports the libraries in the value of an argument.
pub(in crate::rules) fn check_value(cx: &PythonChecker<'_>, name: &str, value: Node) {
    let tree = cx.tree();
    if !ARGUMENTS.contains(&name) || cx.mentions_hip() {
        return;
    }
    let value = cx.semantics.expression(value);
    // `["cublas.lib"] if sys.platform == "win32" else ["-lcublas"]`
    let lists: Vec<_> = match tree.kind(value) {
        Kind::ConditionalExpression => tree.parts(value).step_by(2).collect(),
        _ => vec![value],
    };
    let lists = lists
        .into_iter()
        .filter(|list| matches!(tree.kind(*list), Kind::List | Kind::ArgumentList));
    for item in lists.flat_map(|list| tree.parts(list)) {
        let Some(text) = string(&cx.semantics, item) else {
            continue;
        };
        let library = text.strip_prefix("-l").unwrap_or(text);
        let is_option = name != "libraries";
        if is_option && library == text {
            continue;
        }
        if let Some((_, instead)) = LIBRARIES.iter().find(|(cuda, _)| *cuda == library) {
            cx.report(
                &RULE,
                item,
                format!("A ROCm host has no lib{library}, and PyTorch does not replace it: the link fails."),
                RawFix::display_only(format!("On ROCm: {instead}")),
            );
        }
    }
}
