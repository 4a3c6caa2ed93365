//! The text of string literals.

use crate::syntax::{Kind, Node, Tree};

/// The text between the quotes of a string without escapes or `{…}`.
pub fn literal_text<'a>(tree: &Tree<'a>, node: Node) -> Option<&'a str> {
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
