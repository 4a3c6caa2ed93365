//! Runs the parser, within limits for any text.
//!
//! The crate has no clock, so the limit is a number of parser steps.

use std::ops::ControlFlow;

use hipward_analyzer_core::analysis::MAX_SOURCE_BYTES;
use tree_sitter::{InputEdit, ParseOptions, ParseState, Parser, Point};

use super::comments::without_long_blocks;
use super::kinds::{Grammar, language};
use super::tree::Tree;

/// Parser progress reports allowed for each byte of source, and for any source.
///
/// The parser reports every hundred steps. The files of PyTorch need one report for a hundred bytes or more, and the
/// worst nesting in the tests needs one for fourteen.
const BYTES_PER_REPORT: usize = 2;
const REPORTS_AT_LEAST: usize = 10_000;

/// The previous text, as the parser read it, and its tree, which the parser reuses.
#[derive(Default)]
pub struct LastParse(Option<(String, tree_sitter::Tree)>);

/// Parses `source`; `None` if it is too long, or takes more steps than valid Python does.
///
/// Reuses the unchanged parts of `last`, and replaces it.
pub fn parse<'a>(source: &'a str, last: &mut LastParse) -> Option<Tree<'a>> {
    if source.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let grammar = Grammar::python();
    let mut parser = Parser::new();
    // Only a grammar built for another parser version is rejected, and the versions are pinned together.
    parser.set_language(&language()).ok()?;
    let mut reports = REPORTS_AT_LEAST + source.len() / BYTES_PER_REPORT;
    let mut progress = |_: &ParseState| match reports.checked_sub(1) {
        Some(left) => {
            reports = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let (text, hidden_comments) = without_long_blocks(source);
    let bytes = text.as_bytes();
    // Error recovery depends on the previous tree, and a report must not. After an edit, most errors are still there.
    let old = last
        .0
        .take()
        .filter(|(_, tree)| !tree.root_node().has_error())
        .map(|(before, tree)| edited(tree, &before, &text));
    let mut parse = |old: Option<&tree_sitter::Tree>| {
        parser.parse_with_options(
            &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
            old,
            Some(ParseOptions::new().progress_callback(&mut progress)),
        )
    };
    let mut parsed = parse(old.as_ref())?;
    if old.is_some() && parsed.root_node().has_error() {
        parsed = parse(None)?;
    }
    let tree = Tree::new(source, &parsed, grammar, hidden_comments);
    last.0 = Some((text.into_owned(), parsed));
    Some(tree)
}

/// The tree of `before`, with the edit that leads to `after`: one range between the common prefix and the common
/// suffix.
fn edited(mut tree: tree_sitter::Tree, before: &str, after: &str) -> tree_sitter::Tree {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    tree.edit(&InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(old, start),
        old_end_position: point(old, old_end),
        new_end_position: point(new, new_end),
    });
    tree
}

fn point(text: &[u8], end: usize) -> Point {
    let before = &text[..end];
    let row = before.iter().filter(|byte| **byte == b'\n').count();
    let line = before.iter().rposition(|byte| *byte == b'\n');
    Point::new(row, end - line.map_or(0, |at| at + 1))
}
