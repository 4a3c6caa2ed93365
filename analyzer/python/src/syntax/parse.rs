//! Runs the parser, within limits for any text.
//!
//! The crate has no clock, so the limit is a number of parser steps.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use hipward_analyzer_core::analysis::MAX_SOURCE_BYTES;
use tree_sitter::{InputEdit, ParseOptions, ParseState, Parser, Point};

use super::comments::without_long_blocks;
use super::kinds::{Grammar, language};
use super::tree::{Before, Flat, Tree};

/// Parser progress reports allowed for each byte of source, and for any source.
///
/// The parser reports every hundred steps. The files of PyTorch need one report for a hundred bytes or more, and the
/// worst nesting in the tests needs one for fourteen.
const BYTES_PER_REPORT: usize = 2;
const REPORTS_AT_LEAST: usize = 10_000;

/// The previous text, as the parser read it, and its trees, which the next parse reuses.
#[derive(Default)]
pub struct LastParse(Option<Last>);

struct Last {
    text: String,
    parsed: tree_sitter::Tree,
    flat: Flat,
}

impl LastParse {
    /// Returns the tree of the latest parse, of which the next parse copies the unchanged parts.
    pub fn keep(&mut self, tree: Tree<'_>) {
        if let Some(last) = &mut self.0 {
            last.flat = tree.into_flat();
        }
    }
}

/// Parses `source`; `None` if it is too long, or takes more steps than valid Python does.
///
/// Reuses the unchanged parts of `last`, and replaces it.
pub fn parse<'a>(source: &'a str, last: &mut LastParse) -> Option<Tree<'a>> {
    if source.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let (text, hidden_comments) = without_long_blocks(source);
    #[cfg(not(target_family = "wasm"))]
    if let Some(nodes) = super::valid::parse(&text) {
        last.0 = None;
        return Some(Tree::of_nodes(source, nodes, hidden_comments));
    }
    parse_with_grammar(source, text, hidden_comments, last)
}

/// False if the two parsers read `source` differently. For tests.
#[cfg(not(target_family = "wasm"))]
pub fn is_read_alike(source: &str) -> bool {
    let (text, hidden) = without_long_blocks(source);
    super::valid::parse(&text).is_none_or(|nodes| {
        parse_with_grammar(source, text, hidden, &mut LastParse::default())
            .is_some_and(|tree| tree.first_error().is_none() && tree.entries() == nodes)
    })
}

/// Parses `text`, which is `source` without `hidden_comments`, with the grammar's parser.
fn parse_with_grammar<'a>(
    source: &'a str,
    text: Cow<'a, str>,
    hidden_comments: Vec<Range<usize>>,
    last: &mut LastParse,
) -> Option<Tree<'a>> {
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
    let bytes = text.as_bytes();
    // Error recovery depends on the previous tree, and a report must not. After an edit, most errors are still there.
    let old = last
        .0
        .take()
        .filter(|last| !last.parsed.root_node().has_error())
        .map(|last| {
            let edit = edit_between(&last.text, &text);
            // The tree itself stays as it is, so that its parts can be recognized in the new tree.
            let mut edited = last.parsed.clone();
            edited.edit(&edit);
            (last, edited, edit)
        });
    let mut parse = |old: Option<&tree_sitter::Tree>| {
        parser.parse_with_options(
            &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
            old,
            Some(ParseOptions::new().progress_callback(&mut progress)),
        )
    };
    let mut parsed = parse(old.as_ref().map(|(_, edited, _)| edited))?;
    if old.is_some() && parsed.root_node().has_error() {
        parsed = parse(None)?;
    }
    let before = old.as_ref().map(|(last, _, edit)| Before {
        flat: &last.flat,
        start: edit.start_byte,
        end: edit.new_end_byte,
        growth: (edit.new_end_byte as u32).wrapping_sub(edit.old_end_byte as u32),
    });
    let tree = Tree::new(source, &parsed, grammar, hidden_comments, before);
    last.0 = Some(Last {
        text: text.into_owned(),
        parsed,
        flat: Flat::default(),
    });
    Some(tree)
}

/// The edit from `before` to `after`: one range between the common prefix and the common suffix.
fn edit_between(before: &str, after: &str) -> InputEdit {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let start_position = advance(Point::new(0, 0), &old[..start]);
    let end_of = |edited| advance(start_position, edited);
    InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position,
        old_end_position: end_of(&old[start..old_end]),
        new_end_position: end_of(&new[start..new_end]),
    }
}

/// The position after `text`, which begins at `from`.
fn advance(from: Point, text: &[u8]) -> Point {
    let rows = text.iter().filter(|byte| **byte == b'\n').count();
    match text.iter().rposition(|byte| *byte == b'\n') {
        Some(line) => Point::new(from.row + rows, text.len() - line - 1),
        None => Point::new(from.row, from.column + text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::random_below;

    const START: &str = "import os


class Model(Base):
    \"\"\"A model.\"\"\"

    @property
    def size(self):
        if self.big:  # large
            return 2
        for step in range(3):
            with open(step) as file:
                yield file.read()
        return 1

    async def run(self, x):
        try:
            while x:
                x = await self.next(x)
        except ValueError:
            pass
        return [y for y in x if y]


def first(a, b=1):
    if a:
        return b
    else:
        return a


def second(c):
    return first(c, b=(c, 1))
";

    #[test]
    fn parts_of_the_tree_before_an_edit_are_those_of_the_parser() {
        let mut last = LastParse::default();
        let mut text = START.repeat(3);
        let mut copied = 0;
        let mut below = random_below(7);
        for round in 0..4_000 {
            let at = below(text.len());
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            match below(6) {
                0 => text.insert(at, 'x'),
                1 => drop(text.remove(at)),
                2 => text.insert_str(line, "if x:\n    def new():\n        return 1\n"),
                3 => text.insert_str(line, "        y = 1\n"),
                4 => text.insert_str(line, "    "),
                _ => {
                    let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
                    text.replace_range(line..end, "");
                }
            }
            // Most edits of a text with errors leave errors, and then everything is read again.
            if round % 5 == 0 {
                text = START.repeat(3);
            }
            let (shown, hidden) = without_long_blocks(&text);
            let tree = parse_with_grammar(&text, shown, hidden, &mut last).expect("short");
            let parsed = &last.0.as_ref().expect("parsed").parsed;
            let fresh = Tree::new(&text, parsed, Grammar::python(), Vec::new(), None);
            assert_eq!(tree.entries(), fresh.entries(), "{text}");
            copied += tree.copied;
            last.keep(tree);
        }
        assert!(copied > 100_000, "{copied}");
    }
}
