//! A parser for valid Python, for speed: `analyzer/MEASURED.md` has the figures.
//!
//! It returns the tree that the grammar's parser returns, node for node, or none: for a source with a syntax error, and
//! for constructs that are rare or that the grammar reads differently. The grammar's parser then reads the source. Not in
//! the browser, whose modules have no space for it.

mod brackets;
mod definitions;
mod expressions;
mod lexer;
mod nodes;
mod parser;
mod patterns;
mod simple_statements;
mod statements;
mod string_lexer;
mod strings;
#[cfg(test)]
mod tests;
mod token;

use lexer::Lexer;
use parser::Parser;

use super::tree::Entry;

/// The nodes of the tree in preorder; `None` if the grammar's parser has to read the source.
pub(super) fn parse(source: &str) -> Option<Vec<Entry>> {
    // The scanner of the grammar stops there.
    if source.as_bytes().contains(&0) {
        return None;
    }
    let mut lexer = Lexer::new(source);
    lexer.run()?;
    let (tokens, extras) = (lexer.tokens, lexer.extras);
    let first_token = tokens.first()?.start;
    let first_extra = extras.first().map_or(u32::MAX, |extra| extra.start);
    let mut parser = Parser::new(source, &tokens);
    let module = parser.module(first_token.min(first_extra))?;
    parser.nodes.flatten(module, &extras)
}
