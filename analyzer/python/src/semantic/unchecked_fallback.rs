//! Detects an import whose fallback is `None`, and whose name is then called without a test.

use super::resolve::Semantics;
use crate::syntax::{Field, Kind, Node};

/// True if `handler`, of the `try` around the import `node`, sets the imported names to `None`, and all uses of such a
/// name are calls that no code makes conditional.
///
/// Any other use may be a test, or make the name available to code elsewhere. A function or class that is named after
/// the module is selected by its callers, so calls in it do not count.
pub(super) fn is_called_unchecked(semantics: &Semantics<'_>, node: Node, handler: Node) -> bool {
    let tree = &semantics.tree;
    if !matches!(
        tree.kind(node),
        Kind::ImportStatement | Kind::ImportFromStatement
    ) {
        return false;
    }
    let Some(names) = names_set_to_none(semantics, handler) else {
        return false;
    };
    let module = tree
        .child(node, Field::ModuleName)
        .or_else(|| tree.child(node, Field::Name))
        .map_or("", |module| tree.text(module));
    let word = module
        .split(['.', '_', ' '])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let Some(statement) = tree.parent(handler) else {
        return false;
    };
    let uses: Vec<Node> = tree
        .nodes()
        .filter(|name| tree.kind(*name) == Kind::Identifier && names.contains(&tree.text(*name)))
        .filter(|name| !tree.contains(statement, *name) && !is_label(semantics, *name))
        .collect();
    !uses.is_empty()
        && uses
            .iter()
            .all(|name| is_unconditional_call(semantics, *name, &word))
}

/// The names that a handler sets, if it does nothing else than setting names to `None`.
fn names_set_to_none<'a>(semantics: &Semantics<'a>, handler: Node) -> Option<Vec<&'a str>> {
    let tree = &semantics.tree;
    let body = tree
        .parts(handler)
        .find(|part| tree.kind(*part) == Kind::Block)?;
    let mut names = Vec::new();
    for statement in tree.parts(body) {
        let mut assignment = tree.parts(statement).next()?;
        // `a = b = None`
        loop {
            if tree.kind(assignment) != Kind::Assignment {
                return None;
            }
            let left = tree.child(assignment, Field::Left)?;
            if tree.kind(left) != Kind::Identifier {
                return None;
            }
            names.push(tree.text(left));
            assignment = tree.child(assignment, Field::Right)?;
            if tree.kind(assignment) == Kind::None {
                break;
            }
        }
    }
    Some(names)
}

/// True for the attribute in `x.name`, and for the name of a keyword argument.
fn is_label(semantics: &Semantics<'_>, name: Node) -> bool {
    let field = semantics.tree.field(name);
    let parent = semantics.tree.parent(name);
    let is_in = |kind| parent.is_some_and(|parent| semantics.tree.kind(parent) == kind);
    field == Field::Attribute || field == Field::Name && is_in(Kind::KeywordArgument)
}

/// `name(…)` or `name.member(…)`, in a function that runs it in any case.
fn is_unconditional_call(semantics: &Semantics<'_>, name: Node, word: &str) -> bool {
    let tree = &semantics.tree;
    let mut child = name;
    let mut is_called = false;
    for parent in tree.ancestors(name) {
        match tree.kind(parent) {
            Kind::Attribute if !is_called && tree.field(child) == Field::Object => {}
            Kind::Call if !is_called => {
                if tree.field(child) != Field::Function {
                    return false;
                }
                is_called = true;
            }
            _ if !is_called => return false,
            Kind::IfStatement
            | Kind::ElifClause
            | Kind::ElseClause
            | Kind::ConditionalExpression
            | Kind::BooleanOperator
            | Kind::TryStatement
            | Kind::MatchStatement
            | Kind::Lambda
            | Kind::WhileStatement => return false,
            // `if …: return` or an assertion before it.
            Kind::Block => {
                let leaves = tree
                    .parts(parent)
                    .take_while(|statement| *statement != child)
                    .any(|statement| {
                        matches!(
                            tree.kind(statement),
                            Kind::IfStatement | Kind::AssertStatement | Kind::TryStatement
                        )
                    });
                if leaves {
                    return false;
                }
            }
            Kind::FunctionDefinition | Kind::ClassDefinition => {
                let named = tree.child(parent, Field::Name);
                let text = named.map_or("", |named| tree.text(named));
                if word.len() > 2 && text.to_ascii_lowercase().contains(word) {
                    return false;
                }
            }
            // A decorator may skip a test.
            Kind::DecoratedDefinition => return false,
            _ => {}
        }
        child = parent;
    }
    is_called
}
