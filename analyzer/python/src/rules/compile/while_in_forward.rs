//! HW503: a `while` loop in compiled code.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{function_around, mentions_any, name_of};
use crate::rules::helpers::modules::{forward_around, is_compiled, is_guarded_off, tests_a_tensor};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `while` loops in code that `torch.compile` traces: a compiled function, or the `forward` of a module in a
    /// source that compiles one. A loop whose condition reads a tensor is reported in any `forward`.
    ///
    /// ## Why on ROCm
    ///
    /// If the condition depends on a tensor, the host waits for the GPU in every iteration, and Dynamo breaks the
    /// graph: "Data-dependent branching" with `fullgraph=True`. If it depends on Python numbers, Dynamo unrolls the
    /// loop and compiles again for each number of iterations. Both are as expensive on AMD GPUs as on NVIDIA GPUs; on
    /// ROCm the break also prevents a HIP graph.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def relax(x, tolerance):
    ///     while (x - x.mean()).abs().max() > tolerance:
    ///         x = 0.5 * (x + x.mean())
    ///     return x
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def relax(x, steps: int):
    ///     for _ in range(steps):
    ///         x = 0.5 * (x + x.mean())
    ///     return x
    /// ```
    ///
    /// If the number of iterations is not known, check for convergence outside of the compiled function every few
    /// iterations, or keep the loop in the graph with `torch.while_loop`.
    ///
    /// ## Fix safety
    ///
    /// Display-only: a loop with a different end condition is a different algorithm.
    ///
    /// ## References
    ///
    /// * [Dealing with graph breaks](https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html)
    /// * [torch.while_loop](https://docs.pytorch.org/docs/stable/generated/torch.while_loop.html)
    "HW503" "while-in-forward" {
        title: "A while loop in compiled code",
        family: Compile,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/graph-breaks"),
        visit: [WhileStatement],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some((condition, function)) = tree
        .child(node, Field::Condition)
        .zip(function_around(cx, node))
    else {
        return;
    };
    let reads_tensor = tests_a_tensor(cx, condition);
    let is_traced = is_compiled(cx, function) || reads_tensor && forward_around(cx, node).is_some();
    // `while True` in code that waits for requests is not a model.
    let is_model = name_of(cx, function) == "forward"
        || mentions_any(cx, function, &["torch"])
        || reads_tensor
        || tree.kind(condition) != Kind::True;
    if !is_traced || !is_model || is_guarded_off(cx, node) {
        return;
    }
    let message = if reads_tensor {
        "This condition waits for the GPU in each iteration, and torch.compile breaks the graph here."
    } else {
        "torch.compile unrolls this loop, and compiles again for each new number of iterations."
    };
    cx.report(
        &RULE,
        condition,
        message,
        RawFix::display_only("Loop a fixed number of times, or use torch.while_loop"),
    );
}
