//! Texts and libraries in lists elsewhere: `any(text in message for text in […])` (HW311), and the arguments of an
//! extension in a dictionary or by `append` (HW012).

use crate::checker::PythonChecker;
use crate::rules::PythonRule;
use crate::rules::backend::{error_text, extension_libraries};
use crate::rules::helpers::calls::has_text;
use crate::syntax::{Field, Kind, Node};

pub(super) static TEXTS: PythonRule = PythonRule {
    rule: &error_text::RULE,
    visit: &[Kind::ComparisonOperator],
    check: check_text,
};

pub(super) static LIBRARIES: PythonRule = PythonRule {
    rule: &extension_libraries::RULE,
    visit: &[Kind::Pair, Kind::Call],
    check: check_libraries,
};

/// `any(text in str(error) for text in ["CUDA out of memory", …])`
fn check_text(cx: &PythonChecker<'_>, comparison: Node) {
    let tree = cx.tree();
    let clause = tree
        .ancestors(comparison)
        .find(|around| tree.kind(*around) == Kind::GeneratorExpression)
        .and_then(|around| tree.parts(around).nth(1));
    let Some(clause) = clause else { return };
    let text = |node: Option<Node>| node.map(|node| tree.text(node));
    let parts: Vec<_> = tree.parts(comparison).collect();
    let [compared, operator, _] = parts[..] else {
        return;
    };
    let is_it = matches!(tree.kind(operator), Kind::In | Kind::NotIn)
        && text(tree.child(clause, Field::Left)) == text(Some(compared));
    let Some(list) = tree.child(clause, Field::Right).filter(|_| is_it) else {
        return;
    };
    let mut items = tree.parts(cx.semantics.expression(list));
    if let Some(item) = items.find(|item| tree.text(*item).contains("CUDA out of memory")) {
        error_text::check_text(cx, comparison, item);
    }
}

/// `{"extra_ldflags": ["-lcublas"]}` for `load(**options)`, and `libraries.append("cublas")`
fn check_libraries(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let text = |field| tree.child(node, field).map_or("", |name| tree.text(name));
    let (name, value) = match tree.kind(node) {
        Kind::Pair => (text(Field::Key), tree.child(node, Field::Value)),
        _ => (
            text(Field::Function)
                .strip_suffix(".append")
                .unwrap_or_default(),
            tree.child(node, Field::Arguments),
        ),
    };
    if let Some(value) = value.filter(|_| has_text(cx, "cpp_extension")) {
        extension_libraries::check_value(cx, name.trim_matches(['"', '\'']), value);
    }
}
