//! HW803: a timed loop whose first iteration is slower than the others.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, function_around, has_text};
use crate::rules::helpers::timing::{
    is_benchmark, is_gpu_timing, region, repeating_loop, subjects,
};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds timed loops over GPU work that did not run before, in a source that does not mention a warm-up.
    ///
    /// ## Why on ROCm
    ///
    /// The first call loads code objects, initializes hipBLASLt and MIOpen, and allocates memory; Triton compiles and
    /// autotunes; MIOpen may search for a convolution algorithm for seconds. The clocks of an idle GPU rise only under
    /// load. The mean of a loop without a warm-up includes all of this, and the effect is larger with fewer iterations.
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
    /// Warm up until the times are stable; start with ten iterations. `torch.utils.benchmark.Timer` and
    /// `triton.testing.do_bench` warm up for you.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the work may have side effects that a warm-up would repeat.
    ///
    /// ## References
    ///
    /// * [PyTorch: benchmark recipe](https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html)
    /// * [MIOpen: find modes](https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html)
    "HW803" "no-warm-up" {
        title: "A timed loop without a warm-up",
        family: Measuring,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("baseline/honest-timing"),
        visit: [BinaryOperator, Call],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "torch") {
        return;
    }
    let Some((start, end)) = region(cx, node) else {
        return;
    };
    if mentions_warm_up(cx) || !is_gpu_timing(cx, start, end) || !is_benchmark(cx, node, start, end)
    {
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
        // `first-call-timed` reports compiled functions.
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
        "The timed code does not run before the clock starts: the first iteration includes loading and searching.",
        RawFix::display_only("Run the work a few times, and synchronize, before the clock starts"),
    );
}

/// The source contains the word: its author warms up, here or in the caller.
fn mentions_warm_up(cx: &PythonChecker<'_>) -> bool {
    has_text(cx, "warm") || has_text(cx, "WARM") || has_text(cx, "Warm") || has_text(cx, "dry_run")
}

/// A function returned by `torch.compile`.
fn is_compiled(cx: &PythonChecker<'_>, call: Node) -> bool {
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
