//! HW807: a speedup without a check of the results.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, contains_any, has_text, sides};
use crate::rules::helpers::timing::CLOCKS;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds an assignment such as `speedup = a / b`, or a printed speedup, in a source that times PyTorch code and
    /// never compares results.
    ///
    /// ## Why on ROCm
    ///
    /// A port replaces kernels, and a kernel that skips work is fast. Check the result before its time: NaN from a
    /// different exponential, a missing mask or a missing gradient are all faster than the correct result. In a public
    /// training example for AMD GPUs, a speedup of three times was caused by a missing backward pass.
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
    /// For training, compare gradients as well. Hipward's own benchmark checks against float64 on fresh inputs before
    /// it times anything.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the tolerance depends on the types and on the use of the result.
    ///
    /// ## References
    ///
    /// * [torch.testing.assert_close](https://docs.pytorch.org/docs/stable/testing.html)
    /// * [PyTorch: numerical accuracy](https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html)
    "HW807" "unchecked-speedup" {
        title: "A speedup without a check of the results",
        family: Measuring,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("baseline/precision-before-speed"),
        visit: [BinaryOperator],
    }
}

/// Words in a name or a printed text that claim a speedup; longer texts are not lines of a report.
const CLAIMS: &[&str] = &["speedup", "speed_up", "faster"];
const MOST: usize = 200;

/// Words in a source that checks results.
const CHECKS: &str = "allclose assert_close isclose cosine equal max_diff max_err maxdiff abs_err rel_err relative_l2 \
    rel_l2 mse precision correct verif validat accura toleranc diff snr error atol rtol mismatch";

fn check(cx: &PythonChecker<'_>, quotient: Node) {
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
        "Nothing in this source checks the results of the code that it reports as faster.",
        RawFix::display_only(
            "Compare the results first, for example with torch.testing.assert_close",
        ),
    );
}

/// The source measures times, rather than reading measurements.
fn times(cx: &PythonChecker<'_>) -> bool {
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

fn checks(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::Identifier)
            .find(|node| {
                let name = tree.text(*node).to_ascii_lowercase();
                CHECKS.split(' ').any(|word| name.contains(word))
            })
            .into_iter()
            .collect()
    };
    !cx.once("checks", find).is_empty()
}
