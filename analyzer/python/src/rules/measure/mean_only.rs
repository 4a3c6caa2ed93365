//! HW805: repeated measurements summarized by the mean only.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, contains_any, first, first_value, function_around, mentions, receiver, sides,
};
use crate::rules::helpers::timing::{CLOCKS, clock_readings};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds lists of measured times of which only the mean is used: `np.mean(times)`, `statistics.mean(times)`,
    /// `sum(times) / len(times)`.
    ///
    /// ## Why on ROCm
    ///
    /// The times of a kernel are not distributed symmetrically: the hardware sets a lower limit, while interrupts,
    /// clock changes and other processes only add time. A few slow iterations change the mean but not the median.
    /// Without a measure of spread, it is impossible to tell whether two backends, or two GPUs, differ.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import numpy as np
    ///
    /// def measure(work):
    ///     times = []
    ///     for _ in range(30):
    ///         start = time.perf_counter()
    ///         work()
    ///         times.append(time.perf_counter() - start)
    ///     return np.mean(times)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import numpy as np
    ///
    /// def measure(work):
    ///     times = []
    ///     for _ in range(30):
    ///         start = time.perf_counter()
    ///         work()
    ///         times.append(time.perf_counter() - start)
    ///     return np.median(times)
    /// ```
    ///
    /// Report a measure of spread with it, such as the quartiles.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the median is a different number. `sum(times) / len(times)` gets no edit.
    ///
    /// ## References
    ///
    /// * [Georges, Buytaert, Eeckhout: Statistically rigorous Java performance evaluation](https://dl.acm.org/doi/10.1145/1297027.1297033)
    /// * [Hoefler, Belli: Scientific benchmarking of parallel computing systems](https://dl.acm.org/doi/10.1145/2807591.2807644)
    "HW805" "mean-only" {
        title: "Only the mean of the times is reported",
        family: Measuring,
        severity: Advice,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("baseline/cold-hot-and-how-sure"),
        visit: [Call, BinaryOperator],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(times) = averaged(cx, node) else {
        return;
    };
    let tree = cx.tree();
    let around = function_around(cx, node).unwrap_or(tree.root());
    // A mean that is printed, stored and used as a divisor is one finding.
    let is_first = !cx
        .within(around)
        .take_while(|earlier| *earlier < node)
        .any(|earlier| averaged(cx, earlier) == Some(times));
    if !is_first || !holds_times(cx, around, times) || has_spread(cx, around, times) {
        return;
    }
    let title = "Report the median, and a spread";
    let fix = match mean_name(cx, node) {
        Some(name) => RawFix::unsafe_edits(title, vec![(tree.span(name), "median".to_owned())]),
        None => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        node,
        "A few slow iterations change this mean, and without a spread two results can't be told apart.",
        fix,
    );
}

/// The list of which `node` computes the mean.
fn averaged<'a>(cx: &PythonChecker<'a>, node: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let list = if tree.kind(node) == Kind::Call {
        if !matches!(called(cx, node), "mean" | "fmean" | "average") {
            return None;
        }
        let is_mean = cx.callee(node).is_some_and(|name| {
            name.is_any(&[
                "numpy.mean",
                "numpy.average",
                "statistics.mean",
                "statistics.fmean",
            ])
        });
        if !is_mean {
            return None;
        }
        first_value(cx, node)?
    } else {
        let (sum, count) = sides(cx, node, "/")?;
        if called(cx, sum) != "sum" || receiver(cx, sum).is_some() {
            return None;
        }
        let list = first(cx, sum)?;
        let is_count = called(cx, count) == "len" && tree.text(count).contains(tree.text(list));
        if !is_count && tree.kind(count) != Kind::Identifier {
            return None;
        }
        list
    };
    (tree.kind(list) == Kind::Identifier).then(|| tree.text(list))
}

/// The `mean` of `np.mean`, which the fix replaces.
fn mean_name(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    let tree = cx.tree();
    let function = tree.child(node, Field::Function)?;
    tree.child(function, Field::Attribute)
        .filter(|name| tree.text(*name) == "mean")
}

/// `times.append(clock() - start)`, `times.append(start.elapsed_time(end))`, or the same with a name assigned from one.
fn holds_times(cx: &PythonChecker<'_>, around: Node, list: &str) -> bool {
    let tree = cx.tree();
    let is_time = |value: Node| {
        cx.any_within(value, &|inner| match tree.kind(inner) {
            Kind::BinaryOperator => clock_readings(cx, inner).is_some(),
            Kind::Call => {
                called(cx, inner) == "elapsed_time"
                    || cx.callee(inner).is_some_and(|name| name.is_any(CLOCKS))
            }
            _ => false,
        })
    };
    cx.within(around)
        .filter(|node| tree.kind(*node) == Kind::Call && called(cx, *node) == "append")
        .filter(|call| receiver(cx, *call).is_some_and(|object| tree.text(object) == list))
        .filter_map(|call| first(cx, call))
        .any(|value| is_time(value) || is_time(cx.semantics.expression(value)))
}

/// The list has another use: a median, a deviation or a minimum is computed, or the list itself is returned or stored.
fn has_spread(cx: &PythonChecker<'_>, around: Node, list: &str) -> bool {
    const OTHER: &str = "median percentile quantile std stdev pstdev var variance min max amin amax sorted sort tensor array \
        asarray extend dump DataFrame describe savetxt histogram hist plot dumps";
    let tree = cx.tree();
    cx.any_within(around, &|node| match tree.kind(node) {
        Kind::Call => {
            (listed(OTHER, called(cx, node)) || contains_any(called(cx, node), &["stat", "summar"]))
                && mentions(cx, node, list)
        }
        // The list itself: returned, or stored under another name.
        Kind::ReturnStatement => tree.parts(node).any(|part| {
            tree.text(part) == list || tree.parts(part).any(|inner| tree.text(inner) == list)
        }),
        Kind::Pair | Kind::KeywordArgument => tree
            .child(node, Field::Value)
            .is_some_and(|value| tree.text(value) == list),
        Kind::Assignment => tree
            .child(node, Field::Right)
            .is_some_and(|value| tree.text(value) == list),
        _ => false,
    })
}
