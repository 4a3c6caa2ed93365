//! HW612: an evaluation loop that records gradients.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text, mentions_any, receiver, values};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a loop that calls a model after `model.eval()`, in a source without `torch.no_grad`,
    /// `torch.inference_mode` and `requires_grad`.
    ///
    /// ## Why on ROCm
    ///
    /// `eval()` changes dropout and batch normalization only. Autograd still records every operation and stores the
    /// activations until the output is released, which takes memory and bandwidth, and fused operations without a
    /// backward pass are not selected. This is the same on ROCm and CUDA.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// def accuracy(model, loader):
    ///     model.eval()
    ///     correct = torch.zeros((), device="cuda")
    ///     for x, y in loader:
    ///         correct += (model(x).argmax(-1) == y).sum()
    ///     return correct
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.inference_mode()
    /// def accuracy(model, loader):
    ///     model.eval()
    ///     correct = torch.zeros((), device="cuda")
    ///     for x, y in loader:
    ///         correct += (model(x).argmax(-1) == y).sum()
    ///     return correct
    /// ```
    ///
    /// Use `torch.no_grad()` if the outputs are used in later autograd computations.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide whether a gradient is needed.
    ///
    /// ## References
    ///
    /// * [PyTorch performance tuning guide: disable gradient calculation](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    /// * [Autograd mechanics: no-grad, inference and evaluation modes](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    "HW612" "evaluation-gradient" {
        title: "An evaluation loop records gradients",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("baseline/where-the-time-goes"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    let tree = cx.tree();
    if called(cx, call) != "eval" || !values(cx, call).is_empty() || !has_text(cx, "torch") {
        return;
    }
    let Some(model) = receiver(cx, call) else {
        return;
    };
    if has_text(cx, "no_grad")
        || has_text(cx, "inference_mode")
        || has_text(cx, "set_grad_enabled")
        || has_text(cx, "requires_grad")
    {
        return;
    }
    // The statements after it, until the model is in training mode again.
    let model = tree.text(model);
    let statement = tree.statement(call);
    let loop_after = tree
        .parts(tree.block(call))
        .skip_while(|other| *other != statement)
        .skip(1)
        .take_while(|other| !tree.text(*other).contains(".train("))
        .find(|other| tree.kind(*other) == Kind::ForStatement);
    let Some(loop_after) = loop_after else {
        return;
    };
    let called_there = cx.within(loop_after).find(|node| {
        tree.kind(*node) == Kind::Call
            && tree
                .child(*node, Field::Function)
                .is_some_and(|function| tree.text(function) == model)
    });
    let Some(forward) = called_there else {
        return;
    };
    if mentions_any(cx, loop_after, &["backward", "grad", "train", "compile"]) {
        return;
    }
    cx.report(
        &RULE,
        forward,
        "Autograd records this call: eval() does not disable gradients, and every activation is stored.",
        RawFix::display_only("Run the loop within torch.inference_mode()"),
    );
}
