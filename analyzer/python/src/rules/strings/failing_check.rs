//! HW302: checks that fail because the target's capability is another one: `assert is_sm_at_least_100()`. HW301: checks
//! that fail because a function needs `torch.version.cuda`: `assert is_nvidia()`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::capability_gate::{
    Capability, RULE, capability, on_target, report, taken_for,
};
use crate::rules::backend::version_cuda_gate;
use crate::rules::helpers::calls::{called, only_returned, values};
use crate::semantic::{integer, is_false_import, needs_cuda_version};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::ComparisonOperator, Kind::Call],
    check,
};

/// How many operators around a test, and functions behind it, are followed.
const MAX_DEPTH: usize = 6;

fn check(cx: &PythonChecker<'_>, node: Node) {
    // First, because most calls and comparisons stop nothing.
    if !fails(cx, node, false) && !fails(cx, node, true) {
        return;
    }
    let severity = if cx.mentions_hip() {
        Severity::Info
    } else {
        Severity::Warning
    };
    if fails(cx, node, false) && tests_cuda_version(cx, node) {
        cx.report_as(
            &version_cuda_gate::RULE,
            severity,
            node,
            "This function needs torch.version.cuda, which is None on ROCm, so the check fails.",
            RawFix::display_only("Check torch.version.hip as well, or torch.cuda.is_available()"),
        );
        return;
    }
    let result = match cx.tree().kind(node) {
        Kind::ComparisonOperator if taken_for(cx, node).is_some() => None,
        Kind::ComparisonOperator => on_target(cx, node),
        _ => by_function(cx, node),
    };
    let Some(result) = result.filter(|result| fails(cx, node, *result)) else {
        return;
    };
    let (major, minor) = capability(cx);
    let arch = cx.target().arch.name();
    let message = format!(
        "The capability of {arch} is ({major}, {minor}), the number of its architecture, so this test is {result}, and the check fails."
    );
    report(cx, node, severity, message);
}

/// True for a call of a function that needs `torch.version.cuda`: of another module, or named after NVIDIA. Others are
/// reported where they are defined.
fn tests_cuda_version(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    tree.kind(call) == Kind::Call
        && (tree
            .child(call, Field::Function)
            .is_some_and(|function| is_false_import(&cx.semantics, function))
            || called(cx, call).contains("nvidia")
                && only_returned(cx, call)
                    .is_some_and(|value| needs_cuda_version(&cx.semantics, value)))
}

/// The result of a function that tests the capability: one of the source, or one with the version in its name.
fn by_function(cx: &PythonChecker<'_>, call: Node) -> Option<bool> {
    if let Some(value) = only_returned(cx, call) {
        return conjunction(cx, value, MAX_DEPTH);
    }
    let name = called(cx, call).to_ascii_lowercase();
    let name = name.trim_start_matches('_');
    let rest = ["is_", "has_", "supports_"]
        .iter()
        .find_map(|start| name.strip_prefix(start))?
        .strip_prefix("sm")?
        .trim_start_matches('_');
    if rest == "version" {
        let numbers: Vec<_> = values(cx, call)
            .into_iter()
            .filter_map(|value| integer(&cx.semantics, value))
            .collect();
        return matches!(numbers[..], [major, minor] if (major, minor) != capability(cx))
            .then_some(false);
    }
    // Before Blackwell, a function may test for NVIDIA's GPUs as well.
    let digits = rest.strip_prefix("at_least_").unwrap_or(rest);
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let number: i64 = digits.get(..end)?.parse().ok()?;
    let version: Capability = (number / 10, number % 10);
    (number >= 100 && capability(cx) < version).then_some(false)
}

/// The result of `torch.cuda.is_available() and capability >= (10, 0)`, if the capability determines it.
fn conjunction(cx: &PythonChecker<'_>, value: Node, depth: usize) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let tree = cx.tree();
    let value = tree.unparenthesized(value);
    match tree.kind(value) {
        Kind::ComparisonOperator => on_target(cx, value),
        Kind::BooleanOperator => {
            let is_and = tree.kind(tree.child(value, Field::Operator)?) == Kind::And;
            let sides = [Field::Left, Field::Right].into_iter();
            let mut results =
                sides.filter_map(|side| conjunction(cx, tree.child(value, side)?, depth));
            (is_and && results.any(|result| !result)).then_some(false)
        }
        _ => None,
    }
}

/// `torch.cuda.is_available()`
fn has_gpu(cx: &PythonChecker<'_>, node: Node) -> bool {
    let function = cx.callee(node);
    function.is_some_and(|function| function.is("torch.cuda.is_available"))
}

/// True if the program stops on the target, because `test` has that result: in an `assert`, and before a `raise`.
fn fails(cx: &PythonChecker<'_>, test: Node, mut result: bool) -> bool {
    let tree = cx.tree();
    let mut child = test;
    for parent in tree.ancestors(test).take(MAX_DEPTH) {
        match tree.kind(parent) {
            Kind::ParenthesizedExpression => {}
            Kind::NotOperator => result = !result,
            Kind::BooleanOperator => {
                let operator = tree.child(parent, Field::Operator);
                let is_or = operator.is_some_and(|operator| tree.kind(operator) == Kind::Or);
                // Otherwise the other side decides: `torch.cuda.is_available() and not is_sm_at_least_100()`
                if result != is_or && (is_or || !tree.parts(parent).any(|side| has_gpu(cx, side))) {
                    return false;
                }
            }
            Kind::AssertStatement => return !result && tree.parts(parent).next() == Some(child),
            Kind::IfStatement => {
                let body = tree.child(parent, Field::Consequence);
                let last = body.and_then(|body| tree.parts(body).last());
                return result
                    && tree.field(child) == Field::Condition
                    && last.is_some_and(|last| {
                        tree.kind(last) == Kind::RaiseStatement
                            || tree.text(last).starts_with("sys.exit(")
                    });
            }
            _ => return false,
        }
        child = parent;
    }
    false
}
