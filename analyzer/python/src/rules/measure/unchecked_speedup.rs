//! HW807: a speed-up claimed of results that nobody compared.

use crate::checker::{Checker, Suggestion};
use crate::rules::helpers::calls::{called, contains_any, has_text, sides};
use crate::rules::helpers::timing::CLOCKS;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a `speedup = a / b`, or one that is printed, in a source that times PyTorch code and compares results nowhere.
    ///
    /// ## Why on ROCm
    ///
    /// A port changes kernels, and a kernel that skips work is fast. The precision of the result belongs before its
    /// time: NaN from another exponential, a mask that is lost, a gradient that is not computed are all faster than the
    /// right answer. In a public training example for AMD GPUs, a speed-up of three times was a missing backward.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// def seconds(work):
    ///     start = time.perf_counter()
    ///     work()
    ///     torch.cuda.synchronize()
    ///     return time.perf_counter() - start
    ///
    /// def report(old, new):
    ///     speedup = seconds(old) / seconds(new)
    ///     print(speedup)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// def seconds(work):
    ///     start = time.perf_counter()
    ///     work()
    ///     torch.cuda.synchronize()
    ///     return time.perf_counter() - start
    ///
    /// def report(old, new):
    ///     torch.testing.assert_close(new(), old())
    ///     speedup = seconds(old) / seconds(new)
    ///     print(speedup)
    /// ```
    ///
    /// For training compare gradients as well. Hipward's own benchmark checks against float64 on fresh inputs before it
    /// times anything.
    ///
    /// ## Fix safety
    ///
    /// Display-only: what is close enough depends on types and on what the result is for.
    ///
    /// ## References
    ///
    /// * [torch.testing.assert_close](https://docs.pytorch.org/docs/stable/testing.html)
    /// * [PyTorch: numerical accuracy](https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html)
    "HW807" "unchecked-speedup" {
        title: "A speed-up without a check of the results",
        family: Measuring,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("02-baseline/01-precision-before-speed"),
        visit: [BinaryOperator],
    }
}

/// Words that claim it, in a name or in what is printed; a longer text is no line of a report.
const CLAIMS: &[&str] = &["speedup", "speed_up", "faster"];
const MOST: usize = 200;

/// Words of a source that looks at results.
const CHECKS: &[&str] = &[
    "allclose",
    "assert_close",
    "isclose",
    "cosine",
    "equal",
    "max_diff",
    "max_err",
    "maxdiff",
    "abs_err",
    "rel_err",
    "mse",
    "precision",
    "correct",
    "verif",
    "validat",
    "accura",
    "toleranc",
    "diff",
    "snr",
    "error",
    "atol",
    "rtol",
    "mismatch",
];

fn check(cx: &Checker<'_>, quotient: Node) {
    if sides(cx, quotient, "/").is_none() {
        return;
    }
    let tree = cx.tree();
    let is_claim = tree
        .ancestors(quotient)
        .take_while(|node| !matches!(tree.kind(*node), Kind::Block | Kind::Module))
        .filter_map(|holder| match tree.kind(holder) {
            Kind::Assignment => tree.child(holder, Field::Left),
            Kind::Pair => tree.child(holder, Field::Key),
            Kind::KeywordArgument => tree.child(holder, Field::Name),
            // `print("speedup", a / b)`, `f"{a / b:.2f}x faster"`
            Kind::ArgumentList | Kind::String => Some(holder),
            _ => None,
        })
        .map(|holder| tree.text(holder))
        .any(|text| text.len() < MOST && contains_any(&text.to_ascii_lowercase(), CLAIMS));
    if !is_claim || !has_text(cx, "torch") || !times(cx) || checks(cx) {
        return;
    }
    cx.report(
        &RULE,
        quotient,
        "Nothing in this source compares the results of what it calls faster.",
        Suggestion::display_only(
            "Compare the results first, with torch.testing.assert_close or better",
        ),
    );
}

/// The source measures, rather than reads measurements.
fn times(cx: &Checker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::Call)
            .find(|call| {
                matches!(
                    called(cx, *call),
                    "do_bench" | "elapsed_time" | "do_bench_cudagraph" | "blocked_autorange"
                ) || cx.callee(*call).is_some_and(|name| name.is_any(CLOCKS))
            })
            .into_iter()
            .collect()
    };
    !cx.once("times", find).is_empty()
}

fn checks(cx: &Checker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::Identifier)
            .find(|node| contains_any(&tree.text(*node).to_ascii_lowercase(), CHECKS))
            .into_iter()
            .collect()
    };
    !cx.once("checks", find).is_empty()
}
