//! HW604: RMS normalization written out.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, first_value, has_text, latest, operator, receiver, sides, values,
};
use crate::rules::helpers::modules::{has_kernel, is_reference};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds RMS normalization that is written out: the input multiplied by the reciprocal root of the mean of squares.
    ///
    /// ## Why on ROCm
    ///
    /// In eager mode these are five or six kernels, and each of them reads and writes the whole tensor; one fused
    /// kernel reads it once. `torch.compile` fuses them automatically, so there is no gain with it. In published
    /// measurements on MI300X in eager mode, a fused kernel is about three times as fast for this operation, and makes
    /// a whole model a few percent faster. Measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// def normalize(x, weight, eps=1e-6):
    ///     return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def normalize(x, weight, eps=1e-6):
    ///     return F.rms_norm(x, (x.shape[-1],), weight, eps)
    /// ```
    ///
    /// `torch.nn.RMSNorm` is the module. If the weight is stored as an offset, pass `1 + weight`. Liger-Kernel and
    /// AMD's aiter have kernels that also add the residual.
    ///
    /// ## Fix safety
    ///
    /// Display-only: if the written-out form rounds to a smaller type before it multiplies by the weight, results
    /// differ in the last bit.
    ///
    /// ## References
    ///
    /// * [torch.nn.functional.rms_norm](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.rms_norm.html)
    /// * [torch.nn.RMSNorm](https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html)
    /// * [rocm-SOL-ExecBench: RMSNorm on MI300X](https://github.com/jhinpan/rocm-SOL-ExecBench)
    "HW604" "manual-rms-norm" {
        title: "RMS normalization without a fused kernel",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "PyTorch 2.9 and newer: before, the function runs several kernels",
        lesson: Some("optimize/count-the-bytes"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, root: Node) {
    let name = called(cx, root);
    if !matches!(name, "rsqrt" | "sqrt") || !has_text(cx, "torch") {
        return;
    }
    let Some(mean) = mean_square(cx, root) else {
        return;
    };
    if cx.target().torch < Version::new(2, 9)
        || !divides(cx, root, name)
        || is_reference(cx, root)
        || has_kernel(cx, root)
        || has_text(cx, "rms_norm(") && has_fused(cx)
    {
        return;
    }
    cx.report(
        &RULE,
        mean,
        "In eager mode each step of this normalization reads and writes the whole tensor; F.rms_norm is one kernel.",
        RawFix::display_only("Call F.rms_norm(x, (x.shape[-1],), weight, eps) and measure"),
    );
}

/// The mean of squares under the root, over the last dimension, with a small constant added to it.
fn mean_square(cx: &PythonChecker<'_>, root: Node) -> Option<Node> {
    let tree = cx.tree();
    let resolved = cx.callee(root);
    if resolved.is_some_and(|name| name.root() != "torch") {
        return None;
    }
    let argument = match resolved {
        Some(_) => first_value(cx, root)?,
        None => receiver(cx, root)?,
    };
    let (left, right) = sides(cx, latest(cx, argument), "+")?;
    let mean = [left, right]
        .into_iter()
        .map(|side| latest(cx, side))
        .find(|side| called(cx, *side) == "mean")?;
    let is_last =
        cx.any_within(mean, &|part| tree.text(part) == "-1") && tree.text(mean).contains("keepdim");
    let squared = match cx.callee(mean) {
        Some(_) => first_value(cx, mean)?,
        None => receiver(cx, mean)?,
    };
    (is_last && is_square(cx, latest(cx, squared))).then_some(mean)
}

/// `x.pow(2)`, `torch.square(x)`, `x ** 2`, `x * x`; not of a difference, which would be a variance.
fn is_square(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    if sides(cx, node, "**")
        .is_some_and(|(base, power)| tree.text(power) == "2" && !is_difference(cx, base))
        || sides(cx, node, "*").is_some_and(|(a, b)| tree.text(a) == tree.text(b))
    {
        return true;
    }
    let base = match cx.callee(node) {
        Some(_) => first_value(cx, node),
        None => receiver(cx, node),
    };
    let is_power = match called(cx, node) {
        "square" => true,
        "pow" => values(cx, node)
            .last()
            .is_some_and(|power| tree.text(*power) == "2"),
        _ => false,
    };
    is_power && base.is_some_and(|base| !is_difference(cx, base))
}

fn is_difference(cx: &PythonChecker<'_>, node: Node) -> bool {
    sides(cx, latest(cx, node), "-").is_some()
}

/// The root is used in `x * rsqrt(…)` or `x / sqrt(…)`, directly or through a name.
fn divides(cx: &PythonChecker<'_>, root: Node, name: &str) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(root) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::BinaryOperator => {
            matches!((name, operator(cx, parent)), ("rsqrt", "*") | ("sqrt", "/"))
        }
        Kind::Assignment | Kind::ParenthesizedExpression => true,
        _ => false,
    }
}

/// The source also calls PyTorch's or another fused kernel.
fn has_fused(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .find(|node| {
                tree.kind(*node) == Kind::Call
                    && called(cx, *node).ends_with("rms_norm")
                    && cx.callee(*node).is_some()
            })
            .into_iter()
            .collect()
    };
    !cx.once("rms_norm call", find).is_empty()
}
