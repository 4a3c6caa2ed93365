//! HW305: options of nvcc in a build script written in Python.

use crate::checker::{Checker, Suggestion};
use crate::semantic::tells_rocm_apart;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds options that only nvcc knows, such as `-gencode` and `--use_fast_math`, in `setup.py` and in calls of
    /// `torch.utils.cpp_extension.load`.
    ///
    /// ## Why on ROCm
    ///
    /// `CUDAExtension` works on ROCm: PyTorch converts the sources and compiles them with hipcc, and hands on what
    /// `extra_compile_args={"nvcc": […]}` says, unconverted. hipcc is clang, which stops at an argument that it does not know:
    /// `-gencode`, `-arch=sm_80`, `--expt-relaxed-constexpr`, `--expt-extended-lambda`, `--use_fast_math`, `--ptxas-options`,
    /// `-Xptxas`, `--threads`, `-maxrregcount`. The architecture comes from `PYTORCH_ROCM_ARCH` there, relaxed `constexpr` and device
    /// lambdas need no option, and `-ffast-math` is the fast mathematics.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// extension = CUDAExtension(
    ///     "ops",
    ///     ["ops.cu"],
    ///     extra_compile_args={"nvcc": ["-O3", "-gencode", "arch=compute_80,code=sm_80"]},
    /// )
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// flags = ["-O3"] if torch.version.hip else ["-O3", "-gencode", "arch=compute_80,code=sm_80"]
    /// extension = CUDAExtension("ops", ["ops.cu"], extra_compile_args={"nvcc": flags})
    /// ```
    ///
    /// A source that asks for `torch.version.hip` anywhere is left alone.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the options stay right for nvcc.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    /// * [hipcc and clang options](https://rocm.docs.amd.com/projects/HIPCC/en/latest/)
    "HW305" "nvcc-flags" {
        title: "hipcc does not take nvcc's options",
        family: BackendCode,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("01-port/01-device-abstraction"),
        visit: [String],
    }
}
/// What makes clang stop, by its beginning. `-lineinfo`, `-Xcompiler` and `-use_fast_math` give a warning alone.
const UNKNOWN: &[&str] = &[
    "-gencode",
    "--generate-code",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "--use_fast_math",
    "--ptxas-options",
    "-Xptxas",
    "-arch=sm_",
    "-maxrregcount",
    "--maxrregcount",
    "--generate-line-info",
];

fn check(cx: &Checker<'_>, node: Node) {
    if !is_unknown(cx, node) || cx.mentions_hip() {
        return;
    }
    let tree = cx.tree();
    let root = tree.root();
    let find = || Vec::from_iter(tells_rocm_apart(&cx.semantics, root).then_some(root));
    if !cx.once("names of ROCm", find).is_empty() {
        return;
    }
    // A list of options is one finding.
    let Some(parent) = tree.parent(node) else {
        return;
    };
    let is_listed = match tree.kind(parent) {
        Kind::List | Kind::Tuple => true,
        // `flags.append("-gencode")`, and not `flag.startswith("-gencode")`
        Kind::ArgumentList => tree
            .parent(parent)
            .and_then(|call| tree.child(call, Field::Function))
            .and_then(|function| tree.child(function, Field::Attribute))
            .is_some_and(|method| matches!(tree.text(method), "append" | "insert")),
        _ => false,
    };
    let is_repeated = tree
        .parts(parent)
        .take_while(|other| *other != node)
        .any(|other| is_unknown(cx, other));
    if !is_listed || is_repeated {
        return;
    }
    let option = tree
        .text(node)
        .trim_matches(|c: char| matches!(c, '"' | '\'' | 'f'))
        .split(['=', ' '])
        .next()
        .unwrap_or_default();
    cx.report(
        &RULE,
        node,
        format!("On ROCm this goes to hipcc, which is clang and stops at {option}."),
        Suggestion::display_only("Leave nvcc's options out where torch.version.hip is set"),
    );
}

fn is_unknown(cx: &Checker<'_>, node: Node) -> bool {
    let text = cx.tree().text(node);
    text.len() < 120
        && text
            .find('-')
            .filter(|start| *start <= 2)
            .and_then(|start| text.get(start..))
            .is_some_and(|text| UNKNOWN.iter().any(|option| text.starts_with(option)))
}
