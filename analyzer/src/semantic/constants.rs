//! Strings and numbers that are written out in the source, directly or through a name.

use super::backend::truth_on_target;
use super::resolve::Semantics;
use crate::syntax::{Kind, Node};

/// The text of a string that is one plain literal.
pub(super) fn plain_string<'a>(semantics: &Semantics<'a>, node: Node) -> Option<&'a str> {
    let tree = &semantics.tree;
    if tree.kind(node) != Kind::String {
        return None;
    }
    let mut parts = tree.parts(node);
    match (parts.next(), parts.next()) {
        (None, _) => Some(""),
        (Some(content), None) => {
            let raw = tree.text(node).starts_with(['r', 'R']);
            let plain = tree.kind(content) == Kind::StringContent
                && (raw || tree.parts(content).next().is_none());
            plain.then(|| tree.text(content))
        }
        _ => None,
    }
}

/// The string that the expression at `node` is, where that is written in the source.
///
/// `"a" if torch.version.hip else "b"` is the string that the target gets.
pub(crate) fn string<'a>(semantics: &Semantics<'a>, node: Node) -> Option<&'a str> {
    let tree = &semantics.tree;
    let expression = semantics.expression(node);
    if tree.kind(expression) == Kind::ConditionalExpression {
        let parts: Vec<_> = tree.parts(expression).collect();
        let [yes, condition, no] = parts[..] else {
            return None;
        };
        let taken = if truth_on_target(semantics, condition)? {
            yes
        } else {
            no
        };
        return plain_string(semantics, semantics.expression(taken));
    }
    plain_string(semantics, expression)
}

/// The literal parts of a string at `node`, with `{…}` and escapes left out: what can be said of an f-string or of
/// adjacent literals.
pub(crate) fn string_parts<'a>(semantics: &Semantics<'a>, node: Node) -> Vec<&'a str> {
    let tree = &semantics.tree;
    let expression = semantics.expression(node);
    if !matches!(
        tree.kind(expression),
        Kind::String | Kind::ConcatenatedString
    ) {
        return Vec::new();
    }
    tree.subtree(expression)
        .filter(|part| tree.kind(*part) == Kind::StringContent)
        .map(|part| tree.text(part))
        .collect()
}

/// The integer that the expression at `node` is, where that is written in the source.
pub(crate) fn integer(semantics: &Semantics<'_>, node: Node) -> Option<i64> {
    let expression = semantics.expression(node);
    if semantics.tree.kind(expression) != Kind::Integer {
        return None;
    }
    semantics
        .tree
        .text(expression)
        .replace('_', "")
        .parse()
        .ok()
}
