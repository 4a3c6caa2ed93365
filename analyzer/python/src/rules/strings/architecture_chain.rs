//! HW302: chains of tests for NVIDIA's architectures that end in an exception: `if arch == "sm80": … else: raise`.

use crate::checker::PythonChecker;
use crate::rules::PythonRule;
use crate::rules::backend::capability_gate::{RULE, capability, on_target, report};
use crate::rules::helpers::calls::has_text;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::IfStatement],
    check,
};

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    if !has_text(cx, "get_device_capability") {
        return;
    }
    let clauses = |kind: Kind| {
        tree.parts(node)
            .filter(move |part| tree.kind(*part) == kind)
    };
    let Some(otherwise) = clauses(Kind::ElseClause).next() else {
        return;
    };
    let mut body = tree.parts(otherwise).flat_map(|block| tree.parts(block));
    let raises = body.any(|statement| tree.kind(statement) == Kind::RaiseStatement);
    let elses = clauses(Kind::ElifClause);
    let mut conditions = std::iter::once(node)
        .chain(elses)
        .filter_map(|clause| tree.child(clause, Field::Condition));
    let Some(first) = conditions.next().filter(|_| raises) else {
        return;
    };
    // Tests of one architecture only are other checks' subject.
    let mut others = conditions.peekable();
    if others.peek().is_none() || !is_false(cx, first) || !others.all(|other| is_false(cx, other)) {
        return;
    }
    let severity = if cx.mentions_hip() {
        Severity::Info
    } else {
        Severity::Error
    };
    let (major, minor) = capability(cx);
    let arch = cx.target().arch.name();
    let message = format!(
        "No branch is for {arch}, whose capability is ({major}, {minor}), so the else raises."
    );
    report(cx, first, severity, message);
}

/// `arch == "sm80"`, `arch in ("sm_80", "sm_86")`, `(major, minor) == (10, 0)`: false on the target.
fn is_false(cx: &PythonChecker<'_>, condition: Node) -> bool {
    let tree = cx.tree();
    if tree.kind(condition) != Kind::ComparisonOperator {
        return false;
    }
    let mut parts = tree.parts(condition).skip(1);
    let operator = parts.next().map(|operator| tree.kind(operator));
    let names_nvidias = parts.next().is_some_and(|value| {
        let text = tree.text(value);
        text.contains("\"sm") || text.contains("'sm")
    });
    names_nvidias && matches!(operator, Some(Kind::Equal | Kind::In))
        || on_target(cx, condition) == Some(false)
}
