//! HW414: `torch.onnx.export` without a choice of the exporter.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text, keyword};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls of `torch.onnx.export` without the argument `dynamo`, in code that does not name `onnxscript`.
    ///
    /// ## Why on ROCm
    ///
    /// The builds of PyTorch for ROCm 7 begin with 2.10. Since 2.9 `torch.onnx.export` uses the exporter that is based on `torch.export`. It
    /// needs the package `onnxscript`, which pip does not install with PyTorch: without it the call raises `ModuleNotFoundError`. It also
    /// prefers `dynamic_shapes` to `dynamic_axes`, and does not use functions that `register_custom_op_symbolic` has registered.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def save(model, x):
    ///     torch.onnx.export(model, (x,), "model.onnx", opset_version=17)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def save(model, x):
    ///     torch.onnx.export(model, (x,), "model.onnx", opset_version=17, dynamo=False)
    /// ```
    ///
    /// Or require `onnxscript`, pass `dynamo=True`, and compare the exported model's results with those of PyTorch.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: `dynamo=False` selects the exporter of before, which is deprecated, and PyTorch before 2.5 does not accept the argument.
    ///
    /// ## References
    ///
    /// * [torch.onnx](https://docs.pytorch.org/docs/stable/onnx.html)
    /// * [PyTorch 2.9: release notes](https://github.com/pytorch/pytorch/releases/tag/v2.9.0)
    "HW414" "onnx-exporter" {
        title: "torch.onnx.export needs onnxscript",
        family: PythonVersion,
        severity: Warning,
        applicability: Unsafe,
        targets: "targets with PyTorch 2.9 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release with `dynamo=True` by default.
const SINCE: Version = Version::new(2, 9);

fn check(cx: &PythonChecker<'_>, call: Node) {
    let is_export = || {
        cx.callee(call)
            .is_some_and(|name| name.is("torch.onnx.export") || name.is("torch.onnx.utils.export"))
    };
    if called(cx, call) != "export" || cx.target().torch < SINCE || !is_export() {
        return;
    }
    let tree = cx.tree();
    let Some(arguments) = tree.child(call, Field::Arguments) else {
        return;
    };
    // `**options` may contain it.
    let passes_on = |part: Node| matches!(tree.kind(part), Kind::DictionarySplat | Kind::ListSplat);
    if keyword(cx, call, "dynamo").is_some()
        || tree.parts(arguments).any(passes_on)
        || has_text(cx, "onnxscript")
    {
        return;
    }
    let text = tree.text(arguments);
    let written = text.strip_suffix(')').unwrap_or(text).trim_end();
    let separator = if written.ends_with(',') { " " } else { ", " };
    let end = tree.start(arguments) + written.len();
    let fix = RawFix::unsafe_edits(
        "Pass dynamo=False, or require onnxscript",
        vec![(end..end, format!("{separator}dynamo=False"))],
    );
    cx.report(
        &RULE,
        call,
        "Since PyTorch 2.9 this uses another exporter, which needs the package onnxscript: pip does not install it with PyTorch.",
        fix,
    );
}
