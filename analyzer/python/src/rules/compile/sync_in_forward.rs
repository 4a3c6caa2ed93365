//! HW505: a `forward` that waits for the GPU.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text, receiver, values};
use crate::rules::helpers::modules::{
    forward_around, is_guarded_off, is_made_on_host, is_tensor, tests_a_tensor,
};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds operations in a `forward` that make the host wait for the GPU: `.item()`, `.tolist()`, `.cpu()`,
    /// `.to("cpu").numpy()`, `print(tensor)`, `float(tensor)`, `if mask.any():`, `torch.cuda.synchronize()`.
    ///
    /// ## Why on ROCm
    ///
    /// The host launches kernels ahead of the GPU. Reading a value drains the queue: the GPU is idle while Python
    /// prepares the next launch, once per layer that reads a value. Under `torch.compile` a `print` or a branch on a
    /// tensor breaks the graph, and reading a value can't be captured in a HIP graph. The cost depends on how far ahead
    /// the host was: look for gaps in a profile.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// class Scale(torch.nn.Module):
    ///     def forward(self, x: torch.Tensor):
    ///         return x / x.abs().max().item()
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// class Scale(torch.nn.Module):
    ///     def forward(self, x: torch.Tensor):
    ///         return x / x.abs().max()
    /// ```
    ///
    /// `torch.where` replaces a branch on a tensor. Move logging out of the model, after the step. A branch behind
    /// `if not torch.compiler.is_compiling()` or `if self.debug` is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: replacing a number by a tensor changes the types in later code.
    ///
    /// ## References
    ///
    /// * [PyTorch performance tuning guide: avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    /// * [CUDA semantics: asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
    "HW505" "sync-in-forward" {
        title: "forward waits for the GPU",
        family: Compile,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("optimize/graph-breaks"),
        visit: [Call, IfStatement],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "torch") {
        return;
    }
    let Some(place) = waiting(cx, node) else {
        return;
    };
    if forward_around(cx, node).is_none() || is_guarded_off(cx, place) {
        return;
    }
    let (message, title) = match cx.tree().kind(node) {
        Kind::IfStatement => (
            "A branch on a tensor waits for the GPU, and torch.compile breaks the graph here.",
            "Compute both sides with torch.where, or decide outside of the model",
        ),
        _ => (
            "The host waits here for all queued GPU work, in each call of forward.",
            "Keep the value on the GPU, or read it after the step",
        ),
    };
    cx.report(&RULE, place, message, RawFix::display_only(title));
}

/// The part of `node` that makes the host wait.
fn waiting(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    let tree = cx.tree();
    if tree.kind(node) == Kind::IfStatement {
        let condition = tree.child(node, Field::Condition)?;
        // An `.item()` in it is reported as a call.
        let reads = cx.any_within(condition, &|call| {
            tree.kind(call) == Kind::Call && called(cx, call) == "item"
        });
        return (!reads && tests_a_tensor(cx, condition)).then_some(condition);
    }
    let waits = match called(cx, node) {
        name @ ("item" | "tolist" | "numpy" | "cpu") => {
            let object = receiver(cx, node)?;
            // `x.to("cpu").numpy()`; of a tensor on the GPU `.numpy()` raises TypeError.
            let is_allowed = name != "numpy" || tree.text(object).contains("cpu");
            is_allowed && values(cx, node).is_empty() && may_be_on_gpu(cx, object)
        }
        "synchronize" => cx
            .callee(node)
            .is_some_and(|name| name.is("torch.cuda.synchronize")),
        "print" | "float" | "int" | "bool" => {
            cx.resolve(tree.child(node, Field::Function)?).is_none()
                && receiver(cx, node).is_none()
                && values(cx, node).iter().any(|value| is_tensor(cx, *value))
        }
        _ => false,
    };
    waits.then_some(node)
}

/// Not a NumPy array, a NumPy scalar, or a tensor that an earlier `.cpu()` copied to the host.
fn may_be_on_gpu(cx: &PythonChecker<'_>, object: Node) -> bool {
    let tree = cx.tree();
    let value = cx.semantics.expression(object);
    let from_host = |node: Node| {
        tree.kind(node) == Kind::Call
            && (matches!(called(cx, node), "cpu" | "numpy" | "tolist")
                || cx
                    .callee(node)
                    .is_some_and(|name| matches!(name.root(), "numpy" | "math"))
                || is_made_on_host(cx, node))
    };
    let is_on_host = cx
        .within(value)
        .take_while(|inner| tree.kind(*inner) != Kind::ArgumentList)
        .any(from_host);
    // `self.config.item()`, `module.cpu()`: these may not be tensors.
    let is_plain_attribute = tree.kind(value) == Kind::Attribute
        && !tree.text(value).starts_with("self.")
        && tree.text(value).contains("config");
    !is_on_host && !is_plain_attribute
}
