//! HW206: the path of the CUDA toolkit.

use crate::checker::{PythonChecker, RawFix};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the first place in a source that needs the path of the CUDA toolkit: a use of
    /// `torch.utils.cpp_extension.CUDA_HOME`, or `CUDA_HOME`, `CUDA_PATH` or `CUDA_ROOT` read from the environment as a
    /// required variable, with a CUDA path as the default, or as the condition of a set-up script for its extensions. In
    /// scripts, images and workflows, finds assignments to `CUDA_HOME`.
    ///
    /// ## Why on ROCm
    ///
    /// In a ROCm build `torch.utils.cpp_extension.CUDA_HOME` is `None`, so `os.path.join(CUDA_HOME, "bin")` raises
    /// `TypeError`, and a set-up script that requires the path fails on every ROCm host. ROCm's path is in `ROCM_HOME`,
    /// and in the variables `ROCM_HOME` or `ROCM_PATH`; the compiler is `hipcc`.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.utils.cpp_extension import CUDA_HOME
    ///
    /// include = f"{CUDA_HOME}/include"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torch.utils.cpp_extension import CUDA_HOME, ROCM_HOME
    ///
    /// include = f"{CUDA_HOME or ROCM_HOME}/include"
    /// ```
    ///
    /// A source that uses `ROCM_HOME`, `ROCM_PATH` or `torch.version.hip` is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the files in that folder have different names in ROCm.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    "HW206" "cuda-home" {
        title: "CUDA_HOME is not the path of ROCm",
        family: Environment,
        severity: Warning,
        also: [Error "where a set-up script raises without CUDA_HOME"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Attribute, ImportFromStatement],
        files: [Dockerfile, Shell, Yaml],
    }
}
pub(in crate::rules) const VARIABLES: &[&str] = &["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let used = match tree.kind(node) {
        Kind::Attribute => tree
            .child(node, Field::Attribute)
            .filter(|name| tree.text(*name) == "CUDA_HOME" && tree.field(node) != Field::Left)
            .map(|_| node),
        // Importing it does no harm; using it does.
        Kind::ImportFromStatement if tree.text(node).contains("CUDA_HOME") => cx
            .within(tree.root())
            .skip_while(|other| *other <= node || tree.contains(node, *other))
            .filter(|other| tree.kind(*other) == Kind::Identifier)
            .find(|other| is_it(cx, *other)),
        _ => None,
    };
    if let Some(used) = used
        && is_it(cx, used)
        && !is_reported(cx)
        && !knows_rocm(cx)
    {
        cx.report_as(
            &RULE,
            severity(cx, used),
            used,
            "CUDA_HOME is None in a ROCm build of PyTorch; the toolkit's path is ROCM_HOME.",
            RawFix::display_only(
                "Use ROCM_HOME if torch.version.hip is set, and run no nvcc there",
            ),
        );
    }
}

/// `if torch.cuda.is_available() and CUDA_HOME is not None: … else: raise NotImplementedError`
fn severity(cx: &PythonChecker<'_>, used: Node) -> Severity {
    let tree = cx.tree();
    let stops = tree.ancestors(used).any(|around| {
        tree.child(around, Field::Alternative)
            .is_some_and(|other| tree.text(other).contains("raise "))
    });
    match stops {
        true => Severity::Error,
        false => Severity::Warning,
    }
}

fn is_it(cx: &PythonChecker<'_>, node: Node) -> bool {
    cx.resolve(node)
        .is_some_and(|name| name.is("torch.utils.cpp_extension.CUDA_HOME"))
}

/// Only the first use is reported.
pub(in crate::rules) fn is_reported(cx: &PythonChecker<'_>) -> bool {
    cx.has_reported(&RULE, &|_, _| true)
}

/// True if the source also looks for ROCm's folder.
pub(in crate::rules) fn knows_rocm(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .find(|node| {
                matches!(
                    tree.kind(*node),
                    Kind::Identifier | Kind::StringContent | Kind::DottedName
                ) && matches!(
                    tree.text(*node),
                    "ROCM_HOME" | "ROCM_PATH" | "HIP_PATH" | "IS_HIP_EXTENSION"
                )
            })
            .into_iter()
            .collect()
    };
    cx.mentions_hip() || !cx.once(RULE.id, find).is_empty()
}
