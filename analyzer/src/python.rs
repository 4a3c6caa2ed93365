//! Python's reader: parse, walk the rules over the tree, say what could not be read.

use std::mem;
use std::ops::Range;

use crate::analysis::{Options, Reading};
use crate::checker::{Checker, Suggestion};
use crate::contract;
use crate::position::LineIndex;
use crate::report::Note;
use crate::semantic::Semantics;
use crate::syntax::{Kind, LastParse, Tree, parse};
use crate::team;

/// Reads `source` as Python, starting from the `last` parse where that helps.
pub(crate) fn read(
    source: &str,
    lines: &LineIndex<'_>,
    options: &Options,
    last: &mut LastParse,
) -> Reading {
    let Some(tree) = parse(source, last) else {
        return Reading::refused(Note {
            code: "too-complex".to_owned(),
            message:
                "The parser stopped: this text is too far from valid Python. Paste one Python file."
                    .to_owned(),
            line: None,
        });
    };
    let mut notes = syntax_notes(&tree, lines);
    if notes.iter().any(|note| note.code == "not-python") {
        return Reading {
            notes,
            ..Reading::default()
        };
    }
    let semantics = Semantics::new(tree, options.target.clone());
    let checker = Checker::run(semantics, options);
    let team = team::check(&checker, options);
    let (semantics, mut drafts) = checker.finish();
    drafts.extend(team);
    let tree = &semantics.tree;
    if let Some(cut) = tree.first_cut() {
        notes.push(too_deep(lines.line(cut)));
        // What was left out may use the names that a fix changes.
        for fix in drafts.iter_mut().filter_map(|draft| draft.fix.as_mut()) {
            *fix = Suggestion::display_only(mem::take(&mut fix.title));
        }
    }
    #[cfg_attr(not(feature = "all-languages"), expect(unused_mut))]
    let mut comments: Vec<_> = tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::Comment)
        .map(|node| tree.span(node))
        .collect();
    #[cfg(feature = "all-languages")]
    {
        let embedded = crate::cuda::embedded(&semantics, options);
        drafts.extend(embedded.drafts);
        comments.extend(embedded.comments);
        comments.sort_unstable_by_key(|comment| comment.start);
    }
    Reading {
        drafts,
        comments,
        code_start: code_start(tree),
        notes,
        contract: contract::detect(&semantics),
        silenced: None,
    }
}

/// Something on that line is nested more deeply than it is looked into.
fn too_deep(line: u32) -> Note {
    Note {
        code: "too-deep".to_owned(),
        message:
            "This is nested too deeply: it was not analyzed, and fixes are disabled for this file."
                .to_owned(),
        line: Some(line),
    }
}

/// Where the first statement is; a docstring may stand before it.
fn code_start(tree: &Tree<'_>) -> usize {
    tree.parts(tree.root())
        .find(|child| {
            tree.kind(*child) != Kind::ExpressionStatement
                || tree
                    .parts(*child)
                    .next()
                    .is_none_or(|only| tree.kind(only) != Kind::String)
        })
        .map_or(usize::MAX, |node| tree.start(node))
}

/// What the parser could not make sense of.
fn syntax_notes(tree: &Tree<'_>, lines: &LineIndex<'_>) -> Vec<Note> {
    let Some(first) = tree.first_error() else {
        return Vec::new();
    };
    let mut lost = 0;
    let mut end = 0;
    for error in tree.error_nodes() {
        let span = tree.span(*error);
        // An error within an error counts once.
        if span.end > end {
            lost += visible(tree, span.start.max(end)..span.end);
            end = span.end;
        }
    }
    let line = Some(lines.line(first));
    // Half a file is one large error with statements before it; another language is errors all over.
    let statements = tree
        .nodes()
        .filter(|node| is_telling(tree.kind(*node)))
        .count();
    let is_strewn = tree.error_nodes().len() > statements * 2;
    if is_strewn && lost * 4 > visible(tree, 0..tree.source().len()) {
        return vec![Note {
            code: "not-python".to_owned(),
            message: "Most of this is not valid Python, so it was not analyzed.".to_owned(),
            line,
        }];
    }
    vec![Note {
        code: "syntax-error".to_owned(),
        message: format!(
            "Line {} could not be parsed as Python; the valid parts were analyzed.",
            lines.line(first)
        ),
        line,
    }]
}

/// Nodes that text in another language rarely looks like.
fn is_telling(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ImportStatement
            | Kind::ImportFromStatement
            | Kind::Assignment
            | Kind::FunctionDefinition
            | Kind::ClassDefinition
            | Kind::ReturnStatement
            | Kind::IfStatement
            | Kind::ForStatement
            | Kind::WithStatement
            | Kind::Decorator
    )
}

fn visible(tree: &Tree<'_>, range: Range<usize>) -> usize {
    let text = tree.source().as_bytes().get(range).unwrap_or_default();
    text.iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count()
}
