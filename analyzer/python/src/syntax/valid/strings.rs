//! Strings: their text, escape sequences and replacement fields.

use super::nodes::Id;
use super::parser::Parser;
use super::token::Token;
use crate::syntax::kinds::{Field, Kind};

impl Parser<'_> {
    /// A string, or several that are concatenated.
    pub(super) fn strings(&mut self) -> Option<Id> {
        let first = self.string()?;
        if !matches!(self.token(), Token::Text | Token::FormatStart) {
            return Some(first);
        }
        let all = self.wrap(Kind::ConcatenatedString, first, Field::Other);
        while matches!(self.token(), Token::Text | Token::FormatStart) {
            let next = self.string()?;
            self.nodes.add(all, next, Field::Other);
        }
        Some(all)
    }

    pub(super) fn string(&mut self) -> Option<Id> {
        let token = self.bump();
        let node = self.node(Kind::String, token.start);
        let text = self.source.as_bytes();
        let start = token.start as usize;
        let quote = start
            + text[start..]
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\''))?;
        let has = |letter: u8| text[start..quote].iter().any(|byte| byte | 0x20 == letter);
        let (is_raw, is_bytes) = (has(b'r'), has(b'b'));
        if token.token == Token::FormatStart {
            self.fields(node, is_raw)?;
            return Some(node);
        }
        let mark = text[quote];
        // An empty string has two quotes only.
        let is_triple = token.end as usize - quote >= 6 && text[quote + 1..quote + 3] == [mark; 2];
        let quotes = if is_triple { 3 } else { 1 };
        let (start, end) = (quote + quotes, token.end as usize - quotes);
        let end = if is_raw {
            start + raw_length(&text[start..end], mark)
        } else {
            end
        };
        if start < end {
            let content = self.content(start, end, is_raw, is_bytes, false)?;
            self.nodes.add(node, content, Field::Other);
        }
        self.nodes.set_end(node, token.end);
        Some(node)
    }

    /// The text of a string between its quotes or replacement fields.
    fn content(
        &mut self,
        start: usize,
        end: usize,
        is_raw: bool,
        is_bytes: bool,
        is_format: bool,
    ) -> Option<Id> {
        let content = self
            .nodes
            .new_node(Kind::StringContent, start as u32, end as u32);
        let text = &self.source.as_bytes()[..end];
        let mut at = start;
        while let Some(&byte) = text.get(at) {
            let rest = &text[at..];
            let part = match byte {
                b'\\' if is_raw => None,
                b'\\' if is_bytes && matches!(rest.get(1), Some(b'N' | b'u' | b'U')) => {
                    return None;
                }
                b'\\' => escape_length(&rest[1..])?.map(|length| (Kind::EscapeSequence, length)),
                b'{' | b'}' if is_format => Some((Kind::Other, 2)),
                _ => None,
            };
            let Some((kind, length)) = part else {
                at += 1;
                continue;
            };
            let leaf = self.nodes.new_node(kind, at as u32, (at + length) as u32);
            self.nodes.add(content, leaf, Field::Other);
            at += length;
        }
        self.nodes.set_end(content, end as u32);
        Some(content)
    }

    /// The parts of an f-string after its opening quotes.
    fn fields(&mut self, node: Id, is_raw: bool) -> Option<()> {
        loop {
            match self.token() {
                Token::FormatText => {
                    let text = self.bump();
                    let (start, end) = (text.start as usize, text.end as usize);
                    let content = self.content(start, end, is_raw, false, true)?;
                    self.nodes.add(node, content, Field::Other);
                }
                Token::FieldStart => {
                    let field = self.field(Kind::Interpolation)?;
                    self.nodes.add(node, field, Field::Other);
                }
                _ => {
                    self.close(node, Token::FormatEnd)?;
                    return Some(());
                }
            }
        }
    }

    /// A replacement field.
    pub(super) fn field(&mut self, kind: Kind) -> Option<Id> {
        self.enter()?;
        let start = self.bump().start;
        let field = self.node(kind, start);
        let value = match self.token() {
            Token::Yield => self.yield_expression()?,
            _ => self.expressions()?,
        };
        self.nodes.add(field, value, Field::Other);
        self.eat(Token::Assign);
        if self.token() == Token::Conversion {
            self.operator(field, Kind::Other, Field::Other);
        }
        if self.token() == Token::SpecificationStart {
            let start = self.bump().start;
            let specification = self.node(Kind::Other, start);
            while self.token() == Token::FieldStart {
                let nested = self.field(Kind::Other)?;
                self.nodes.add(specification, nested, Field::Other);
            }
            let end = self.start();
            self.nodes.set_end(specification, end);
            self.nodes.add(field, specification, Field::Other);
        }
        self.close(field, Token::FieldEnd)?;
        self.leave();
        Some(field)
    }
}

/// The length of the escape sequence whose backslash precedes `rest`; `Some(None)` if it is none.
#[expect(clippy::option_option, reason = "the outer one stops the parser")]
fn escape_length(rest: &[u8]) -> Option<Option<usize>> {
    let digits = |count: usize| {
        let digits = rest.get(1..=count)?;
        digits
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(count + 2)
    };
    let length = match rest {
        [b'u', ..] => digits(4),
        [b'U', ..] => digits(8),
        [b'x', ..] => digits(2),
        [b'0'..=b'9', ..] => {
            let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit());
            Some(1 + digits.count())
        }
        [b'\r', b'\n', ..] => Some(3),
        [b'\n' | b'\'' | b'"' | b'\\', ..] => Some(2),
        [b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v', ..] => Some(2),
        [b'N', b'{', name @ ..] => match name.iter().position(|byte| *byte == b'}')? {
            0 => None,
            length => Some(length + 4),
        },
        _ => None,
    };
    Some(length)
}

/// The length of the part of a raw string that the grammar stores as its content: not the backslashes at the end.
fn raw_length(content: &[u8], quote: u8) -> usize {
    let (mut at, mut length, mut has_content) = (0, 0, false);
    while let Some(&byte) = content.get(at) {
        at += 1;
        if byte == b'\\' {
            let next = |at: usize| content.get(at).copied();
            if next(at) == Some(quote) || next(at) == Some(b'\\') {
                at += 1;
            }
            match (next(at), next(at + 1)) {
                (Some(b'\r'), Some(b'\n')) => at += 2,
                (Some(b'\r' | b'\n'), _) => at += 1,
                _ => {}
            }
        } else if byte == quote {
            // A quote in a string with three ends a part.
            if content.get(at) == Some(&quote) {
                at += 1;
            }
            length = at;
            has_content = false;
        } else {
            has_content = true;
        }
    }
    if has_content { content.len() } else { length }
}
