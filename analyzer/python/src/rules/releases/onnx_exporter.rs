//! HW414: `torch.onnx.export` without a choice of the exporter.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text, keyword, unpacks_arguments};
use crate::rules::helpers::edits::add_keyword;
use crate::syntax::Node;
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
    if keyword(cx, call, "dynamo").is_some()
        || unpacks_arguments(cx, call)
        || has_text(cx, "onnxscript")
    {
        return;
    }
    let Some(edit) = add_keyword(cx, call, "dynamo=False") else {
        return;
    };
    let fix = RawFix::unsafe_edits("Pass dynamo=False, or require onnxscript", vec![edit]);
    cx.report(
        &RULE,
        call,
        "Since PyTorch 2.9 this uses another exporter, which needs the package onnxscript: pip does not install it with PyTorch.",
        fix,
    );
}
