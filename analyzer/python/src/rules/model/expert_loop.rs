//! HW609: a mixture of experts that runs one expert at a time.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    class_of, contains_any, decorators, function_around, has_text, mentions, mentions_any,
};
use crate::rules::helpers::modules::is_reference;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `for` loops over the experts of a mixture-of-experts layer that run one expert per iteration.
    ///
    /// ## Why on ROCm
    ///
    /// Each iteration launches small matrix products that fill a fraction of the compute units of an Instinct GPU, and
    /// the host waits to find out which tokens are routed to which expert. A grouped matrix product runs all experts in
    /// one launch: `torch.nn.functional.grouped_mm`, or `fused_moe` of AMD's aiter, which vLLM and SGLang use on ROCm.
    /// The gain is larger the fewer tokens an expert gets: measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Experts(nn.Module):
    ///     def __init__(self, count, hidden):
    ///         super().__init__()
    ///         self.experts = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(count))
    ///
    ///     def forward(self, x, chosen):
    ///         out = torch.zeros_like(x)
    ///         for index, expert in enumerate(self.experts):
    ///             rows = torch.where(chosen == index)[0]
    ///             out[rows] = expert(x[rows])
    ///         return out
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// from torch import nn
    /// from torch.nn.functional import grouped_mm
    ///
    /// class Experts(nn.Module):
    ///     def __init__(self, count, hidden):
    ///         super().__init__()
    ///         self.weight = nn.Parameter(torch.randn(count, hidden, hidden, dtype=torch.bfloat16))
    ///
    ///     def forward(self, x, chosen):
    ///         order = chosen.argsort()
    ///         ends = torch.bincount(chosen, minlength=len(self.weight)).cumsum(0, dtype=torch.int32)
    ///         out = grouped_mm(x[order], self.weight, offs=ends)
    ///         return torch.empty_like(out).index_copy_(0, order, out)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the grouped product needs another layout of the experts' weights.
    ///
    /// ## References
    ///
    /// * [torch.nn.functional.grouped_mm](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html)
    /// * [aiter: fused_moe](https://github.com/ROCm/aiter)
    "HW609" "expert-loop" {
        title: "Experts run one at a time",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("optimize/one-product"),
        visit: [ForStatement],
    }
}

fn check(cx: &PythonChecker<'_>, loop_: Node) {
    let tree = cx.tree();
    let (Some(left), Some(over), Some(body)) = (
        tree.child(loop_, Field::Left),
        tree.child(loop_, Field::Right),
        tree.child(loop_, Field::Body),
    ) else {
        return;
    };
    let is_about_experts = |node: Node| mentions_any(cx, node, &["expert", "Expert", "EXPERT"]);
    // A tuple literal is not a list of experts.
    if !is_about_experts(left) && !is_about_experts(over)
        || matches!(tree.kind(over), Kind::Tuple | Kind::List)
        || !has_text(cx, "torch")
    {
        return;
    }
    let variables: Vec<&str> = cx
        .within(left)
        .filter(|node| tree.kind(*node) == Kind::Identifier)
        .map(|node| tree.text(node))
        .collect();
    let runs_one = cx.any_within(body, &|node| {
        tree.kind(node) == Kind::Call && runs_expert(cx, node, body, &variables)
    });
    let Some(function) = function_around(cx, loop_) else {
        return;
    };
    if !runs_one || is_reference(cx, loop_) || has_other_way(cx, function) {
        return;
    }
    cx.report(
        &RULE,
        over,
        "Each iteration launches the small products of one expert; a grouped product runs all of them at once.",
        RawFix::display_only("Use torch.nn.functional.grouped_mm or aiter's fused_moe, and measure"),
    );
}

/// `expert(x)`, `self.experts[i](x)`, `F.linear(x, self.up[i])`, with a variable of the loop.
fn runs_expert(cx: &PythonChecker<'_>, call: Node, body: Node, variables: &[&str]) -> bool {
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let of_loop = |node: Node| {
        variables
            .iter()
            .any(|variable| mentions(cx, node, variable))
    };
    match tree.kind(function) {
        Kind::Identifier => {
            let name = tree.text(function);
            // `expert = self.experts[i]` in the body, or the variable itself.
            variables.contains(&name)
                && tree
                    .child(call, Field::Arguments)
                    .is_some_and(|list| tree.parts(list).next().is_some())
                || cx.any_within(body, &|node| {
                    tree.kind(node) == Kind::Assignment
                        && tree
                            .child(node, Field::Left)
                            .is_some_and(|left| tree.text(left) == name)
                        && tree.child(node, Field::Right).is_some_and(|right| {
                            tree.kind(right) == Kind::Subscript
                                && of_loop(right)
                                && tree.text(right).contains("expert")
                        })
                })
        }
        Kind::Subscript => tree.text(function).contains("expert") && of_loop(function),
        _ => {
            cx.callee(call)
                .is_some_and(|name| name.is("torch.nn.functional.linear"))
                && tree.child(call, Field::Arguments).is_some_and(|list| {
                    tree.parts(list)
                        .any(|part| tree.kind(part) == Kind::Subscript && of_loop(part))
                })
        }
    }
}

/// The author has a grouped kernel as an alternative to the loop.
fn has_other_way(cx: &PythonChecker<'_>, function: Node) -> bool {
    const SIGNS: &[&str] = &[
        "use_experts_implementation",
        "use_kernel",
        "compilable_disable",
    ];
    let tree = cx.tree();
    let by_decorator = |definition: Node| {
        decorators(cx, definition)
            .iter()
            .any(|decorator| contains_any(tree.text(*decorator), SIGNS))
    };
    by_decorator(function)
        || class_of(cx, function).is_some_and(by_decorator)
        || mentions_any(
            cx,
            class_of(cx, function).unwrap_or(function),
            &["grouped_mm", "fused_moe", "grouped_gemm", "gmm"],
        )
}
