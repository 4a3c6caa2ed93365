//! What a fix writes: Python with the holes of the pattern, filled with what was found.

use super::matching::{Filling, Match};
use super::pattern::{Hole, Source};
use hipward_analyzer_python::rules::helpers::edits::indentation;
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, Tree, parse};

/// A template, ready for filling.
#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Hole {
        /// The pattern's number of the hole.
        index: usize,
        /// The neighbours bind as tightly as an operator does, so `a + b` needs parentheses here.
        tight: bool,
    },
}

impl Template {
    /// Reads a template for a pattern with these holes.
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
            return Err("a metavariable can't stand in a string or a comment".to_owned());
        }
        Ok(Template { pieces })
    }

    /// The text for a match; none where it would not be Python.
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
                        // The comma that set it apart goes with it.
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

/// True where an operator would split the text that is put in.
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
        // await and its like
        | Kind::Other => true,
        Kind::Attribute => tree.field(node) == Field::Object,
        Kind::Subscript => tree.field(node) == Field::Value,
        Kind::Call => tree.field(node) == Field::Function,
        _ => false,
    }
}

/// True for an expression that an operator beside it would split.
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

/// Lines that move to another depth: each after the first gets the indentation of the line it now follows.
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
        // The lines of a string are not layout.
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

/// `text` as it can stand in the place of `node`: an expression for an expression, in parentheses where it needs them.
/// None when it is no Python by itself.
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
