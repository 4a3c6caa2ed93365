//! The replacement of a fix: Python with the pattern's metavariables, filled in with the matched code.

use super::matching::{Filling, Match};
use super::pattern::{Hole, Source};
use hipward_analyzer_python::rules::helpers::edits::indentation;
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, Tree, parse};

/// A parsed template.
#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Hole {
        /// The pattern's index of the metavariable.
        index: usize,
        /// The surrounding operators bind tightly, so `a + b` needs parentheses here.
        tight: bool,
    },
}

impl Template {
    /// Parses a template for a pattern with these metavariables.
    pub(super) fn new(text: &str, holes: &[Hole]) -> Result<Template, String> {
        let source = Source::new(text.trim_matches('\n'))?;
        let unknown = source
            .holes
            .iter()
            .find(|hole| hole.is_anonymous() || !holes.contains(hole));
        if let Some(hole) = unknown {
            let sign = if hole.many { "$..." } else { "$" };
            return Err(format!("the pattern has no `{sign}{}`", hole.name));
        }
        let tree = source.parse()?;
        let mut pieces = Vec::new();
        let mut from = 0;
        for node in tree.nodes() {
            let Some(hole) = (tree.kind(node) == Kind::Identifier)
                .then(|| source.hole(tree.text(node)))
                .flatten()
            else {
                continue;
            };
            let index = holes.iter().position(|known| *known == source.holes[hole]);
            let Some(index) = index else {
                continue;
            };
            let before = source.text.get(from..tree.start(node)).unwrap_or_default();
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Hole {
                index,
                tight: is_tight(&tree, node),
            });
            from = tree.end(node);
        }
        pieces.push(Piece::Text(
            source.text.get(from..).unwrap_or_default().to_owned(),
        ));
        let written = pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Hole { .. }))
            .count();
        let wanted = text.matches('$').count();
        if written != wanted {
            return Err("a metavariable cannot be part of a string or a comment".to_owned());
        }
        Ok(Template { pieces })
    }

    /// The text for a match; `None` if it would not be valid Python.
    pub(super) fn fill(&self, tree: &Tree<'_>, found: &Match<'_>) -> Option<String> {
        let indent = indentation(tree.source(), found.span.start).unwrap_or_default();
        let mut text = String::new();
        let mut skip_comma = false;
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => {
                    let mut piece = piece.as_str();
                    if std::mem::take(&mut skip_comma)
                        && let Some(rest) = piece.trim_start().strip_prefix(',')
                    {
                        piece = rest.trim_start();
                    }
                    text.push_str(&piece.replace('\n', &format!("\n{indent}")));
                }
                Piece::Hole { index, tight } => {
                    let filling = found.fillings.get(*index)?.as_ref()?;
                    if filling.text.is_empty() {
                        // The comma that separates it is removed too.
                        match text.trim_end().strip_suffix(',') {
                            Some(rest) => text.truncate(rest.len()),
                            None => skip_comma = true,
                        }
                        continue;
                    }
                    let filled = reindent(tree, filling, &text)?;
                    let needs_parentheses =
                        *tight && filling.only.is_some_and(|node| is_loose(tree, node));
                    if needs_parentheses {
                        text.push('(');
                    }
                    text.push_str(&filled);
                    if needs_parentheses {
                        text.push(')');
                    }
                }
            }
        }
        fit(tree, found.node, text, indent)
    }
}

/// True if an operator would split the inserted text.
fn is_tight(tree: &Tree<'_>, node: Node) -> bool {
    let Some(parent) = tree.parent(node) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::BinaryOperator
        | Kind::UnaryOperator
        | Kind::BooleanOperator
        | Kind::NotOperator
        | Kind::ComparisonOperator
        | Kind::ConditionalExpression
        | Kind::ListSplat
        | Kind::DictionarySplat
        // await and similar
        | Kind::Other => true,
        Kind::Attribute => tree.field(node) == Field::Object,
        Kind::Subscript => tree.field(node) == Field::Value,
        Kind::Call => tree.field(node) == Field::Function,
        _ => false,
    }
}

/// True for an expression that an adjacent operator would split.
fn is_loose(tree: &Tree<'_>, node: Node) -> bool {
    !matches!(
        tree.kind(node),
        Kind::Identifier
            | Kind::Attribute
            | Kind::Call
            | Kind::Subscript
            | Kind::String
            | Kind::Integer
            | Kind::Float
            | Kind::True
            | Kind::False
            | Kind::None
            | Kind::Tuple
            | Kind::List
            | Kind::Dictionary
            | Kind::ListComprehension
            | Kind::SetComprehension
            | Kind::DictionaryComprehension
            | Kind::ParenthesizedExpression
    )
}

/// Changes the indentation of lines: each line after the first gets the indentation of the line in which the text is
/// inserted.
fn reindent(tree: &Tree<'_>, filling: &Filling<'_>, before: &str) -> Option<String> {
    let from = indentation(tree.source(), filling.range.start);
    let (Some(from), true) = (from, filling.text.contains('\n')) else {
        return Some(filling.text.to_owned());
    };
    let to = before.rsplit('\n').next().unwrap_or_default();
    if !to.trim().is_empty() || from == to {
        return Some(filling.text.to_owned());
    }
    if filling.text.contains("\"\"\"") || filling.text.contains("'''") {
        // The lines of a string are not formatting.
        return None;
    }
    let mut lines = filling.text.split('\n');
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        text.push('\n');
        if !line.trim().is_empty() {
            text.push_str(to);
            text.push_str(line.strip_prefix(from)?);
        }
    }
    Some(text)
}

/// `text` as a replacement for `node`: an expression for an expression, with parentheses if necessary. `None` if it is
/// not valid Python by itself.
fn fit(tree: &Tree<'_>, node: Node, text: String, indent: &str) -> Option<String> {
    let dedented = text.replace(&format!("\n{indent}"), "\n");
    let parsed = parse(&dedented, &mut LastParse::default())?;
    if parsed.first_error().is_some() {
        return None;
    }
    let is_statement = tree
        .parent(node)
        .is_some_and(|parent| matches!(tree.kind(parent), Kind::Block | Kind::Module));
    if is_statement || tree.kind(node) == Kind::DottedName {
        return Some(text);
    }
    let statements: Vec<_> = parsed.parts(parsed.root()).collect();
    let [only] = statements[..] else {
        return None;
    };
    let expression = parsed.parts(only).next()?;
    if parsed.kind(only) != Kind::ExpressionStatement || parsed.parts(only).count() != 1 {
        return None;
    }
    if is_tight(tree, node) && is_loose(&parsed, expression) {
        return Some(format!("({text})"));
    }
    Some(text)
}
