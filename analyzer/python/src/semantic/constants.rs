//! Constant strings and numbers in the source, directly or through names.

use std::borrow::Cow;

use super::backend::truth_on_target;
use super::literal::literal_text;
use super::resolve::Semantics;
use crate::syntax::{Field, Kind, Node};

/// How many nested names, f-strings and sums are followed.
const MAX_DEPTH: u8 = 8;

/// The value of the expression at `node`, if it is one string literal in the source.
///
/// For `"a" if torch.version.hip else "b"`, it is the string on the target.
pub fn string<'a>(semantics: &Semantics<'a>, node: Node) -> Option<&'a str> {
    literal_text(&semantics.tree, taken(semantics, node)?)
}

/// The expression that `node` evaluates to on the target, through names and conditional expressions.
fn taken(semantics: &Semantics<'_>, node: Node) -> Option<Node> {
    let tree = &semantics.tree;
    let expression = semantics.expression(node);
    if tree.kind(expression) != Kind::ConditionalExpression {
        return Some(expression);
    }
    let parts: Vec<_> = tree.parts(expression).collect();
    let [yes, condition, no] = parts[..] else {
        return None;
    };
    let taken = if truth_on_target(semantics, condition)? {
        yes
    } else {
        no
    };
    Some(semantics.expression(taken))
}

/// The string value of the expression at `node`, including concatenations of constants: `PREFIX + "HOME"`,
/// `f"{PREFIX}HOME"`, `"CUDA_" "HOME"`.
pub fn folded<'a>(semantics: &Semantics<'a>, node: Node) -> Option<Cow<'a, str>> {
    fold(semantics, node, MAX_DEPTH)
}

fn fold<'a>(semantics: &Semantics<'a>, node: Node, depth: u8) -> Option<Cow<'a, str>> {
    let depth = depth.checked_sub(1)?;
    let tree = &semantics.tree;
    let node = taken(semantics, node)?;
    if let Some(plain) = literal_text(&semantics.tree, node) {
        return Some(Cow::Borrowed(plain));
    }
    let mut text = String::new();
    match tree.kind(node) {
        Kind::String => {
            for part in tree.parts(node) {
                match tree.kind(part) {
                    Kind::StringContent if tree.parts(part).next().is_none() => {
                        text.push_str(tree.text(part));
                    }
                    Kind::Interpolation => {
                        let mut inner = tree.parts(part);
                        let value = inner.next()?;
                        // `{value!r}` and `{value:>8}` are formatted differently.
                        if inner.next().is_some() {
                            return None;
                        }
                        match tree.kind(semantics.expression(value)) {
                            Kind::Integer => text.push_str(tree.text(semantics.expression(value))),
                            _ => text.push_str(&fold(semantics, value, depth)?),
                        }
                    }
                    _ => return None,
                }
            }
        }
        Kind::ConcatenatedString => {
            for part in tree.parts(node) {
                text.push_str(&fold(semantics, part, depth)?);
            }
        }
        Kind::BinaryOperator => {
            if tree.kind(tree.child(node, Field::Operator)?) != Kind::Plus {
                return None;
            }
            text.push_str(&fold(semantics, tree.child(node, Field::Left)?, depth)?);
            text.push_str(&fold(semantics, tree.child(node, Field::Right)?, depth)?);
        }
        _ => return None,
    }
    Some(Cow::Owned(text))
}

/// The literal parts of a string at `node`, without `{…}` and escapes: the known part of an f-string or of adjacent
/// literals.
pub fn string_parts<'a>(semantics: &Semantics<'a>, node: Node) -> Vec<&'a str> {
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

/// The integer value of the expression at `node`, if it is constant in the source.
pub fn integer(semantics: &Semantics<'_>, node: Node) -> Option<i64> {
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
