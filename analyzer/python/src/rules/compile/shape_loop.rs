//! HW508: a loop over the length of a tensor in compiled code.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, function_around, receiver, values};
use crate::rules::helpers::modules::{is_compiled, is_guarded_off, is_tensor};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `for` loops over a size of a tensor, such as `for t in range(x.shape[1])`, in functions that
    /// `torch.compile` traces.
    ///
    /// ## Why on ROCm
    ///
    /// The graph contains a copy of the body for each iteration, and each new length is compiled again. We measured with
    /// PyTorch 2.15 on the CPU: of ten lengths, the last two run without a graph, because `recompile_limit` is 8.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def decay(x: torch.Tensor, rate: float):
    ///     total = torch.zeros_like(x[:, 0])
    ///     for t in range(x.shape[1]):
    ///         total = rate * total + x[:, t]
    ///     return total
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def decay(x: torch.Tensor, rate: float):
    ///     steps = torch.arange(x.shape[1] - 1, -1, -1, device=x.device)
    ///     return (x * rate**steps).sum(1)
    /// ```
    ///
    /// Otherwise compile the body of the loop only, or write a kernel.
    ///
    /// ## Fix safety
    ///
    /// Display-only: this is a different algorithm.
    ///
    /// ## References
    ///
    /// * [torch.compile: recompilation](https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html)
    "HW508" "shape-loop" {
        title: "A loop over a tensor's length in compiled code",
        family: Compile,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/graph-breaks"),
        visit: [ForStatement],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some((iterated, function)) = tree
        .child(node, Field::Right)
        .zip(function_around(cx, node))
    else {
        return;
    };
    if !counts_a_size(cx, iterated) || !is_compiled(cx, function) || is_guarded_off(cx, node) {
        return;
    }
    cx.report(
        &RULE,
        iterated,
        "This loop is unrolled, and compiled again for each length.",
        RawFix::display_only("Use an operator, or compile the body only"),
    );
}

/// `range(x.shape[1])`, `range(1, length)` after `batch, length, width = x.shape`.
fn counts_a_size(cx: &PythonChecker<'_>, iterated: Node) -> bool {
    called(cx, iterated) == "range"
        && values(cx, iterated)
            .into_iter()
            .take(2)
            .any(|limit| is_size(cx, limit))
}

/// `x.shape[1]`, `x.size(1)`, `len(x)`, or a name for one of these.
fn is_size(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    if let Some(Value::Unpacked(shape, _)) = cx.semantics.binding(node).map(|found| found.value) {
        return is_shape(cx, shape);
    }
    let node = cx.semantics.expression(node);
    match tree.kind(node) {
        Kind::Subscript => tree
            .child(node, Field::Value)
            .is_some_and(|shape| is_shape(cx, shape)),
        Kind::Call if called(cx, node) == "len" => {
            values(cx, node).first().is_some_and(|x| is_tensor(cx, *x))
        }
        _ => is_shape(cx, node),
    }
}

/// `x.shape` or `x.size()` of a tensor.
fn is_shape(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let holder = match tree.kind(node) {
        Kind::Attribute => tree
            .child(node, Field::Attribute)
            .filter(|name| tree.text(*name) == "shape")
            .and_then(|_| tree.child(node, Field::Object)),
        Kind::Call if called(cx, node) == "size" => receiver(cx, node),
        _ => None,
    };
    holder.is_some_and(|holder| is_tensor(cx, holder))
}
