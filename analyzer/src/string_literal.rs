//! The value of a Python string, with the position of each part in the source: escapes are longer in Python than in the
//! text that another program gets.

use std::ops::Range;

use hipward_analyzer_python::syntax::{Kind, Node, Tree};

/// True for a complete string that is not a docstring.
pub(crate) fn is_value(tree: &Tree<'_>, node: Node) -> bool {
    let is_part = |kind| {
        tree.parent(node)
            .is_some_and(|parent| tree.kind(parent) == kind)
    };
    match tree.kind(node) {
        Kind::String => !is_part(Kind::ConcatenatedString) && !is_part(Kind::ExpressionStatement),
        Kind::ConcatenatedString => !is_part(Kind::ExpressionStatement),
        _ => false,
    }
}

/// A piece of a string's value, from `at` to the start of the next, and its position in the source.
struct Piece {
    at: usize,
    source: Range<usize>,
}

/// The value of a string.
pub(crate) struct Literal {
    pub(crate) text: String,
    pieces: Vec<Piece>,
    /// Characters that an inserted text must not contain.
    pub(crate) closing: &'static [char],
}

impl Literal {
    pub(crate) fn new(tree: &Tree<'_>, node: Node) -> Literal {
        let mut literal = Literal {
            text: String::new(),
            pieces: Vec::new(),
            closing: &['\\', '"', '\''],
        };
        for string in tree
            .subtree(node)
            .filter(|part| tree.kind(*part) == Kind::String)
        {
            let whole = tree.text(string);
            let (start, rest) = whole.split_at(whole.find(['"', '\'']).unwrap_or(0));
            let has = |letter: char| start.to_ascii_lowercase().contains(letter);
            let is_block = rest.starts_with("\"\"\"") || rest.starts_with("'''");
            if has('f') || !is_block {
                literal.closing = &['\\', '"', '\'', '\n', '{', '}'];
            }
            for part in tree.parts(string) {
                match tree.kind(part) {
                    Kind::StringContent => literal.push(tree, tree.span(part), has('r'), has('f')),
                    // Any interpolation counts as one word.
                    _ => {
                        let span = tree.span(part);
                        let word = "_".repeat(span.len());
                        literal.add(&word, span);
                    }
                }
            }
        }
        literal
    }

    fn add(&mut self, text: &str, source: Range<usize>) {
        let at = self.text.len();
        self.pieces.push(Piece { at, source });
        self.text.push_str(text);
    }

    /// Appends the source text in `span`, with escapes decoded.
    fn push(&mut self, tree: &Tree<'_>, span: Range<usize>, is_raw: bool, is_format: bool) {
        let content = tree.source().get(span.clone()).unwrap_or_default();
        let mut rest = content;
        loop {
            let start = span.end - rest.len();
            let escape = rest
                .find(|c| c == '\\' && !is_raw || is_format && (c == '{' || c == '}'))
                .unwrap_or(rest.len());
            if escape > 0 {
                self.add(&rest[..escape], start..start + escape);
            }
            let mut characters = rest[escape..].chars();
            let (Some(first), second) = (characters.next(), characters.next()) else {
                return;
            };
            let text = match (first, second) {
                ('\\', Some('n')) => "\n",
                ('\\', Some('t')) => "\t",
                ('\\', Some('\n')) => "",
                ('\\', Some('\\')) => "\\",
                ('\\', Some('"')) => "\"",
                ('\\', Some('\'')) => "'",
                ('{', Some('{')) => "{",
                ('}', Some('}')) => "}",
                // Python leaves other escapes unchanged, or C++ does not need them.
                _ => {
                    let end = escape + first.len_utf8();
                    self.add(&rest[escape..end], start + escape..start + end);
                    rest = &rest[end..];
                    continue;
                }
            };
            let end = escape + 2;
            self.add(text, start + escape..start + end);
            rest = &rest[end..];
        }
    }

    /// The position of a range of the value in the source.
    pub(crate) fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.start(range.start);
        if range.is_empty() {
            return start..start;
        }
        let index = self.pieces.partition_point(|piece| piece.at < range.end) - 1;
        let piece = &self.pieces[index];
        let next = self.pieces.get(index + 1);
        let end = if range.end == next.map_or(self.text.len(), |next| next.at) {
            piece.source.end
        } else {
            piece.source.start + range.end - piece.at
        };
        start..end.max(start)
    }

    fn start(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|piece| piece.at <= at);
        match index
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index))
        {
            Some(piece) => (piece.source.start + at - piece.at).min(piece.source.end),
            None => 0,
        }
    }
}
