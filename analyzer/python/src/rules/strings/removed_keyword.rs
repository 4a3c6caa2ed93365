//! HW404: arguments that functions of Triton do not have any more.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{has_text, keyword};
use crate::rules::releases::removed_torch_python_api::RULE;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Version;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::Call],
    check,
};

/// The argument, its function, the first release of PyTorch whose Triton lacks it, the message and the advice.
type Removed = (
    &'static str,
    &'static str,
    Version,
    &'static str,
    &'static str,
);

const NO_TRANSPOSED: &str =
    "Triton's dot has no trans_a and trans_b since 2.0: the kernel does not compile.";

const REMOVED: [Removed; 4] = [
    (
        "fast_flush",
        "triton.testing.do_bench",
        Version::new(2, 6),
        "Triton's do_bench has no fast_flush since 3.2: the call raises TypeError.",
        "Remove the argument",
    ),
    (
        "percentiles",
        "triton.testing.do_bench",
        Version::new(2, 1),
        "Triton's do_bench has no percentiles since 2.1: the call raises TypeError.",
        "Name it quantiles",
    ),
    (
        "trans_a",
        "triton.language.dot",
        Version::new(2, 0),
        NO_TRANSPOSED,
        "Pass tl.trans(a)",
    ),
    (
        "trans_b",
        "triton.language.dot",
        Version::new(2, 0),
        NO_TRANSPOSED,
        "Pass tl.trans(b)",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "triton") {
        return;
    }
    for (argument, function, since, message, advice) in REMOVED {
        let Some(value) = keyword(cx, node, argument) else {
            continue;
        };
        let is_it = cx.callee(node).is_some_and(|name| name.is(function));
        if is_it && cx.target().torch >= since {
            let whole = cx.tree().parent(value).unwrap_or(value);
            cx.report(&RULE, whole, message, RawFix::display_only(advice));
            return;
        }
    }
}
