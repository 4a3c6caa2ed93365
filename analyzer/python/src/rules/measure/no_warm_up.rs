//! HW803: a timed loop whose first round is not like the others.

use crate::checker::{Checker, Suggestion};
use crate::rules::helpers::calls::{called, function_around, has_text};
use crate::rules::helpers::timing::{
    is_benchmark, is_gpu_timing, region, repeating_loop, subjects,
};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds timed loops over GPU work that was not run before, in a source that says nothing of a warm-up.
    ///
    /// ## Why on ROCm
    ///
    /// The first call loads code objects, sets up hipBLASLt and MIOpen, and finds memory; Triton compiles and
    /// autotunes; MIOpen may search for a convolution's algorithm for seconds. The clocks of an idle GPU rise only
    /// under load. All of it lands in the mean of a loop that starts cold, and the more of it, the fewer rounds there
    /// are.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// def benchmark(x, rounds):
    ///     torch.cuda.synchronize()
    ///     start = time.perf_counter()
    ///     for _ in range(rounds):
    ///         torch.matmul(x, x)
    ///     torch.cuda.synchronize()
    ///     return (time.perf_counter() - start) / rounds
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// def benchmark(x, rounds):
    ///     for _ in range(10):
    ///         torch.matmul(x, x)
    ///     torch.cuda.synchronize()
    ///     start = time.perf_counter()
    ///     for _ in range(rounds):
    ///         torch.matmul(x, x)
    ///     torch.cuda.synchronize()
    ///     return (time.perf_counter() - start) / rounds
    /// ```
    ///
    /// Warm up until the times settle; ten rounds are a beginning. `torch.utils.benchmark.Timer` and
    /// `triton.testing.do_bench` do it for you.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the work may have effects that a warm-up would repeat.
    ///
    /// ## References
    ///
    /// * [PyTorch: benchmark recipe](https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html)
    /// * [MIOpen: find modes](https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html)
    "HW803" "no-warm-up" {
        title: "A timed loop that starts cold",
        family: Measuring,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("02-baseline/02-honest-timing"),
        visit: [BinaryOperator, Call],
    }
}

fn check(cx: &Checker<'_>, node: Node) {
    if !has_text(cx, "torch") {
        return;
    }
    let Some((start, end)) = region(cx, node) else {
        return;
    };
    if says_warm_up(cx) || !is_gpu_timing(cx, start, end) || !is_benchmark(cx, node, start, end) {
        return;
    }
    let tree = cx.tree();
    let Some(body) =
        repeating_loop(cx, start, end).and_then(|round| tree.child(round, Field::Body))
    else {
        return;
    };
    let subjects = subjects(cx, body);
    if subjects.is_empty() || subjects.iter().any(|call| is_compiled(cx, *call)) {
        // `first-call-timed` speaks of compiled ones.
        return;
    }
    let around = function_around(cx, start).unwrap_or(tree.root());
    let ran_before = cx
        .within(around)
        .take_while(|earlier| *earlier < start)
        .filter(|earlier| tree.kind(*earlier) == Kind::Call)
        .any(|earlier| {
            subjects.iter().any(|call| {
                !called(cx, earlier).is_empty() && called(cx, *call) == called(cx, earlier)
            })
        });
    if ran_before {
        return;
    }
    cx.report(
        &RULE,
        start,
        "Nothing ran before the clock starts: the loop's first round pays for loading, searching and rising clocks.",
        Suggestion::display_only("Run the work some rounds, and wait, before the first reading"),
    );
}

/// The source knows the word: its author warms up, here or where this is called from.
fn says_warm_up(cx: &Checker<'_>) -> bool {
    has_text(cx, "warm") || has_text(cx, "WARM") || has_text(cx, "Warm") || has_text(cx, "dry_run")
}

/// A function that `torch.compile` made.
fn is_compiled(cx: &Checker<'_>, call: Node) -> bool {
    cx.tree()
        .child(call, Field::Function)
        .and_then(|function| cx.semantics.binding(function))
        .is_some_and(|binding| match binding.value {
            Value::Expression(made) => cx.callee(made).is_some_and(|name| name.is("torch.compile")),
            Value::Function(definition) => {
                crate::rules::helpers::modules::is_compiled(cx, definition)
            }
            _ => false,
        })
}
