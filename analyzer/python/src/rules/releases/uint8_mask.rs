//! HW408: masks of uint8, which PyTorch's masked functions refuse.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, first_value};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `masked_fill`, `masked_select` and `masked_scatter` with a mask that the source makes with `.byte()`, `.to(torch.uint8)` or
    /// `torch.ByteTensor`, also in a variable that is assigned once.
    ///
    /// ## Why on ROCm
    ///
    /// Before PyTorch 1.2 comparisons returned uint8, and code of that time converts masks to it. Later releases warned, and current ones raise
    /// `masked_fill_ only supports boolean masks`. Code that pins an old PyTorch gets a newer one with ROCm.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def mask_scores(scores, mask):
    ///     return scores.masked_fill(mask.byte(), float("-inf"))
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    ///
    /// def mask_scores(scores, mask):
    ///     return scores.masked_fill(mask.bool(), float("-inf"))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe in the call itself: the same elements are selected. Display-only for a variable, which the source may also compute with.
    ///
    /// ## References
    ///
    /// * [Tensor.masked_fill_](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html)
    /// * [PyTorch: non-boolean masks in masked_fill](https://github.com/pytorch/pytorch/pull/96594)
    "HW408" "uint8-mask" {
        title: "Masks are boolean",
        family: PythonVersion,
        severity: Error,
        applicability: Safe,
        targets: "targets with PyTorch 2.1 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release without masks of other dtypes.
const SINCE: Version = Version::new(2, 1);

fn check(cx: &PythonChecker<'_>, node: Node) {
    let function = called(cx, node).trim_end_matches('_');
    if !matches!(function, "masked_fill" | "masked_select" | "masked_scatter")
        || cx.target().torch < SINCE
    {
        return;
    }
    // `torch.masked_fill(x, mask, value)` has the tensor first.
    let tree = cx.tree();
    let is_of_module = cx
        .callee(node)
        .is_some_and(|name| name.parts().first() == Some(&"torch"));
    let mask = match is_of_module {
        true => tree
            .child(node, Field::Arguments)
            .and_then(|arguments| tree.parts(arguments).nth(1)),
        false => first_value(cx, node),
    };
    let Some(mask) = mask else {
        return;
    };
    let value = cx.semantics.expression(mask);
    let Some(conversion) = conversion_to_bytes(cx, value) else {
        return;
    };
    let fix = match value == mask && tree.text(conversion) == "byte" {
        true => RawFix::safe_edits(
            "Use bool()",
            vec![(tree.span(conversion), "bool".to_owned())],
        ),
        false => RawFix::display_only("Make the mask with bool() or torch.bool"),
    };
    let message = format!(
        "PyTorch {} refuses this mask: it is uint8, not bool.",
        cx.target().torch
    );
    cx.report(&RULE, mask, message, fix);
}

/// The name `byte` of `mask.byte()`, `to` of `mask.to(torch.uint8)`, or `ByteTensor`.
fn conversion_to_bytes(cx: &PythonChecker<'_>, value: Node) -> Option<Node> {
    let tree = cx.tree();
    let function = tree.child(value, Field::Function)?;
    let name = tree.child(function, Field::Attribute).unwrap_or(function);
    let makes = match tree.text(name) {
        "byte" | "ByteTensor" => true,
        "to" | "type" => tree.text(tree.child(value, Field::Arguments)?) == "(torch.uint8)",
        _ => false,
    };
    (makes && tree.kind(value) == Kind::Call).then_some(name)
}
