//! Code that is for one version of a library or of Python.

use crate::checker::PythonChecker;
use crate::semantic::is_import_guarded;
use crate::syntax::{Field, Kind, Node};

/// `except ImportError:`, `if TORCH_MAJOR < 2:`, `if hasattr(torch, "symeig"):`
pub(super) fn is_for_a_version(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node).any(|around| match tree.kind(around) {
        // Not the exceptions that it names, and not the end of an iterator.
        Kind::ExceptClause => {
            tree.parent(node) != Some(around)
                && !tree.text(around).starts_with("except StopIteration")
        }
        Kind::IfStatement | Kind::ElifClause => tree
            .child(around, Field::Condition)
            .is_some_and(|condition| is_on_versions(tree.text(condition))),
        Kind::ConditionalExpression => is_on_versions(tree.text(around)),
        _ => false,
    })
}

/// The same, or a `try` that handles a missing attribute.
pub(super) fn is_told_apart(cx: &PythonChecker<'_>, node: Node) -> bool {
    is_for_a_version(cx, node) || is_import_guarded(&cx.semantics, node, &["AttributeError"])
}

fn is_on_versions(condition: &str) -> bool {
    let condition = condition.to_ascii_lowercase();
    ["version", "hasattr", "torch_", "_torch", "pytorch"]
        .iter()
        .any(|word| condition.contains(word))
}
