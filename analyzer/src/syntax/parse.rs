//! Running the parser, within limits that hold for any text.
//!
//! The crate has no clock, so a budget of parser steps stands in for one.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser};

use super::kinds::{Grammar, language};
use super::tree::Tree;

/// Sources longer than this are refused with a sentence.
///
/// The largest module of PyTorch itself is about a third of it.
pub const MAX_SOURCE_BYTES: usize = 2 * 1024 * 1024;

/// Parser progress reports allowed for each byte of source, and for any source.
///
/// A report comes every hundred parser steps. The files of PyTorch need one for a hundred bytes or more, and the worst
/// nesting that the tests know one for fourteen.
const BYTES_PER_REPORT: usize = 2;
const REPORTS_AT_LEAST: usize = 10_000;

/// Parses `source`; nothing when it is too long, or takes more steps than any Python does.
pub(crate) fn parse(source: &str) -> Option<Tree<'_>> {
    if source.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let grammar = Grammar::python();
    let mut parser = Parser::new();
    // Only a grammar built for another parser is refused, and the versions are pinned together.
    parser.set_language(&language()).ok()?;
    let mut reports = REPORTS_AT_LEAST + source.len() / BYTES_PER_REPORT;
    let mut progress = |_: &ParseState| match reports.checked_sub(1) {
        Some(left) => {
            reports = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let bytes = source.as_bytes();
    parser
        .parse_with_options(
            &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
            None,
            Some(ParseOptions::new().progress_callback(&mut progress)),
        )
        .map(|parsed| Tree::new(source, &parsed, grammar))
}
