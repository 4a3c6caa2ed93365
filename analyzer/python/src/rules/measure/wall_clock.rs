//! HW802: durations from a clock that can jump.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{function_around, has_text};
use crate::rules::helpers::timing::{calls_between, clock_readings, is_benchmark, is_gpu_timing};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds differences of `time.time()` around GPU work, and around PyTorch work in code that measures.
    ///
    /// ## Why on ROCm
    ///
    /// `time.time()` is the time of day: it can be set forward and back while a program runs, and its resolution is not
    /// guaranteed. `time.perf_counter()` is monotonic and has the highest available resolution. A kernel takes tens of
    /// microseconds, and two backends may differ by less. This applies to NVIDIA GPUs as well, but numbers are usually
    /// compared during a port.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// x = torch.randn(1024, 1024, device="cuda")
    /// start = time.time()
    /// y = torch.matmul(x, x)
    /// torch.cuda.synchronize()
    /// elapsed = time.time() - start
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// x = torch.randn(1024, 1024, device="cuda")
    /// start = time.perf_counter()
    /// y = torch.matmul(x, x)
    /// torch.cuda.synchronize()
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: both readings change, and the fix is offered only if the first one is used for this difference alone.
    /// Change a start time that is used twice, or also printed as a date, by hand.
    ///
    /// ## References
    ///
    /// * [time.perf_counter](https://docs.python.org/3/library/time.html#time.perf_counter)
    "HW802" "wall-clock" {
        title: "A duration from the time of day",
        family: Measuring,
        severity: Info,
        applicability: Safe,
        targets: "every target",
        lesson: Some("baseline/honest-timing"),
        visit: [BinaryOperator],
    }
}

fn check(cx: &PythonChecker<'_>, difference: Node) {
    let tree = cx.tree();
    let is_minus = tree
        .child(difference, Field::Operator)
        .is_some_and(|operator| tree.kind(operator) == Kind::Minus);
    if !is_minus || !has_text(cx, "torch") {
        return;
    }
    let Some((start, end)) = clock_readings(cx, difference) else {
        return;
    };
    let is_time_of_day = |call: Node| cx.callee(call).is_some_and(|name| name.is("time.time"));
    if !is_time_of_day(start) || !is_time_of_day(end) || !is_measurement(cx, difference, start, end)
    {
        return;
    }
    let title = "Use time.perf_counter()";
    let names = [start, end].map(|reading| {
        tree.child(reading, Field::Function)
            .filter(|function| tree.text(*function) == "time.time")
            .and_then(|function| tree.child(function, Field::Attribute))
    });
    let fix = match names {
        [Some(first), Some(last)]
            if serves_once(cx, tree.child(difference, Field::Right), start)
                && serves_once(cx, tree.child(difference, Field::Left), end) =>
        {
            let edit = |name| (tree.span(name), "perf_counter".to_owned());
            RawFix::safe_edits(title, vec![edit(first), edit(last)])
        }
        _ => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        end,
        "time.time() can be set while the work runs; time.perf_counter() is made for durations.",
        fix,
    );
}

/// GPU work, or PyTorch work in a benchmark; a progress message may use the time of day.
fn is_measurement(cx: &PythonChecker<'_>, difference: Node, start: Node, end: Node) -> bool {
    let calls_torch = || {
        calls_between(cx, start, end)
            .into_iter()
            .any(|call| cx.callee(call).is_some_and(|name| name.root() == "torch"))
    };
    is_gpu_timing(cx, start, end) || is_benchmark(cx, difference, start, end) && calls_torch()
}

/// The reading is an operand of the difference, or in a name that only the difference uses.
fn serves_once(cx: &PythonChecker<'_>, side: Option<Node>, reading: Node) -> bool {
    let tree = cx.tree();
    let Some(name) = side.filter(|side| *side != reading) else {
        return true;
    };
    let Some(stored) = cx.semantics.binding(name) else {
        return false;
    };
    // In a loop, an assignment further down also reaches the difference.
    let comes_back = |other: Node| {
        tree.ancestors(name).any(|around| {
            matches!(tree.kind(around), Kind::ForStatement | Kind::WhileStatement)
                && tree.contains(around, other)
                && !tree.contains(around, stored.node)
        })
    };
    let around = function_around(cx, reading).unwrap_or(tree.root());
    cx.within(around)
        .filter(|node| tree.kind(*node) == Kind::Identifier && tree.text(*node) == tree.text(name))
        .filter(|node| *node != name && *node != stored.node)
        .all(|other| {
            // Another assignment, or a read of another one; if it may read either, the result is unknown.
            let is_target = tree.field(other) == Field::Left
                && tree
                    .parent(other)
                    .is_some_and(|parent| tree.kind(parent) == Kind::Assignment);
            if is_target {
                !comes_back(other)
            } else {
                cx.semantics
                    .binding(other)
                    .is_some_and(|binding| binding.node != stored.node)
            }
        })
}
