//! HW613: a training step that reads the loss.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text, receiver, values};
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `loss.item()` in each step of a training loop that calls `loss.backward()`. A call behind a condition, such
    /// as `if step % 100 == 0`, is not reported. One finding for each loop.
    ///
    /// ## Why on ROCm
    ///
    /// The host launches kernels ahead of the GPU. `.item()` waits until the GPU has finished, and the next step begins
    /// with an empty queue: the GPU is idle until the first kernels arrive. How much that costs depends on the size of
    /// the step: look for the gap in a profile.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// def train(model, loader, optimizer):
    ///     total = 0.0
    ///     for x, y in loader:
    ///         loss = model(x.to("cuda"), y.to("cuda"))
    ///         loss.backward()
    ///         optimizer.step()
    ///         optimizer.zero_grad()
    ///         total += loss.item()
    ///     return total
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// def train(model, loader, optimizer):
    ///     total = torch.zeros((), device="cuda")
    ///     for x, y in loader:
    ///         loss = model(x.to("cuda"), y.to("cuda"))
    ///         loss.backward()
    ///         optimizer.step()
    ///         optimizer.zero_grad()
    ///         total += loss.detach()
    ///     return total.item()
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: a tensor instead of a number changes the types in later code.
    ///
    /// ## References
    ///
    /// * [PyTorch performance tuning guide: avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    "HW613" "item-in-step" {
        title: "Each training step waits for the loss",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("baseline/where-the-time-goes"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, backward: Node) {
    let tree = cx.tree();
    if called(cx, backward) != "backward" || !has_text(cx, "cuda") || !has_text(cx, "torch") {
        return;
    }
    let Some(step) = loop_around(cx, backward) else {
        return;
    };
    let text = tree.text(backward);
    let reads_loss = |call: &Node| {
        tree.kind(*call) == Kind::Call
            && called(cx, *call) == "item"
            && values(cx, *call).is_empty()
            && receiver(cx, *call).is_some_and(|loss| {
                tree.kind(loss) == Kind::Identifier && text.contains(tree.text(loss))
            })
            && loop_around(cx, *call) == Some(step)
    };
    let Some(item) = cx.within(step).find(reads_loss) else {
        return;
    };
    let whole = tree.text(item);
    if cx.has_reported(&RULE, &|reported, _| reported == whole) {
        return;
    }
    cx.report(
        &RULE,
        item,
        "The host waits here for the GPU in each training step.",
        RawFix::display_only("Add up the tensor, and read it every n steps"),
    );
}

/// The loop that runs `node` in each iteration: no condition and no other function is in between.
fn loop_around(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    let tree = cx.tree();
    tree.ancestors(node)
        .find(|around| {
            !matches!(
                tree.kind(*around),
                Kind::Call
                    | Kind::ArgumentList
                    | Kind::KeywordArgument
                    | Kind::Assignment
                    | Kind::AugmentedAssignment
                    | Kind::BinaryOperator
                    | Kind::ParenthesizedExpression
                    | Kind::ExpressionStatement
                    | Kind::Attribute
                    | Kind::Block
                    | Kind::WithStatement
            )
        })
        .filter(|around| tree.kind(*around) == Kind::ForStatement)
}
