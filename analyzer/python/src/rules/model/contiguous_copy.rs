//! HW607: a transposed tensor copied for an operation that accepts strides.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    assigned_to, called, earlier, function_around, has_text, operator, receiver, values,
};
use crate::rules::helpers::modules::is_reference;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `x.transpose(…).contiguous()` (also after `permute`, `.t()`, `.mT`) whose result is only used in a matrix
    /// product, `F.linear` or `scaled_dot_product_attention`.
    ///
    /// ## Why on ROCm
    ///
    /// The copy reads and writes the whole tensor. hipBLASLt and rocBLAS accept a transposed operand, and attention
    /// kernels accept strides if the last dimension is contiguous, as it is after `transpose(1, 2)` of a tensor split
    /// into heads. A copy can still be faster if a tensor with an unfavorable layout is multiplied many times: measure
    /// it. Before `.view(…)` the copy is needed and is not reported.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// def scores(q, k):
    ///     return torch.matmul(q, k.transpose(-2, -1).contiguous())
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// def scores(q, k):
    ///     return torch.matmul(q, k.transpose(-2, -1))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the values are the same, but a different kernel may be selected, with different rounding and speed.
    ///
    /// ## References
    ///
    /// * [torch.Tensor.contiguous](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html)
    /// * [hipBLASLt: matmul descriptors and layouts](https://rocm.docs.amd.com/projects/hipBLASLt/en/latest/)
    "HW607" "contiguous-copy" {
        title: "A transposed tensor is copied for a product",
        family: ModelPerformance,
        severity: Advice,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/attention-masks"),
        visit: [Call],
    }
}

const TAKES_STRIDES: &[&str] = &[
    "torch.matmul",
    "torch.bmm",
    "torch.mm",
    "torch.nn.functional.linear",
    "torch.nn.functional.scaled_dot_product_attention",
];

fn check(cx: &PythonChecker<'_>, call: Node) {
    if called(cx, call) != "contiguous" || !has_text(cx, "torch") {
        return;
    }
    let tree = cx.tree();
    let Some(object) = receiver(cx, call).filter(|object| is_transposed(cx, *object)) else {
        return;
    };
    if !values(cx, call).is_empty() || !only_multiplied(cx, call) || is_reference(cx, call) {
        return;
    }
    let edits = vec![(tree.end(object)..tree.end(call), String::new())];
    cx.report(
        &RULE,
        call,
        "This copies the whole tensor for an operation that accepts the transposed one.",
        RawFix::unsafe_edits("Remove .contiguous() and measure", edits),
    );
}

fn is_transposed(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    match tree.kind(node) {
        Kind::Call => matches!(
            called(cx, node),
            "transpose" | "permute" | "t" | "swapaxes" | "swapdims"
        ),
        Kind::Attribute => tree
            .child(node, Field::Attribute)
            .is_some_and(|name| matches!(tree.text(name), "T" | "mT")),
        _ => false,
    }
}

/// True if each use of the copy is an operand of an operation that accepts strides.
fn only_multiplied(cx: &PythonChecker<'_>, call: Node) -> bool {
    if takes_strides(cx, call) {
        return true;
    }
    let tree = cx.tree();
    let Some(name) = assigned_to(cx, call).filter(|left| tree.kind(*left) == Kind::Identifier)
    else {
        return false;
    };
    let Some(function) = function_around(cx, call) else {
        return false;
    };
    let assignment_end = tree.end(call);
    let mut uses = cx
        .within(function)
        .filter(|node| {
            tree.kind(*node) == Kind::Identifier
                && tree.text(*node) == tree.text(name)
                && tree.start(*node) >= assignment_end
        })
        .peekable();
    uses.peek().is_some()
        && uses.all(|usage| {
            // The same value, and no other use of it.
            let is_same = earlier(cx, usage).last() == Some(&call)
                && cx
                    .semantics
                    .binding(usage)
                    .is_none_or(|binding| binding.value == Value::Expression(call));
            is_same && takes_strides(cx, usage)
        })
}

/// True if `node` is an operand of a matrix product or of attention.
fn takes_strides(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(node) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::BinaryOperator => operator(cx, parent) == "@",
        Kind::ArgumentList => tree
            .parent(parent)
            .and_then(|outer| cx.callee(outer))
            .is_some_and(|name| name.is_any(TAKES_STRIDES)),
        _ => false,
    }
}
