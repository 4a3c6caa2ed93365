//! Splits strings and the replacement fields of f-strings into tokens.

use super::lexer::Lexer;
use super::token::Token;

/// Nested f-strings; deeper ones are left to the grammar.
const MAX_FORMAT_DEPTH: usize = 8;

impl Lexer<'_> {
    /// A string whose prefix, from `start`, is already read.
    pub(super) fn string(&mut self, start: usize) -> Option<()> {
        let prefix = &self.bytes[start..self.at];
        let has = |letter: u8| prefix.iter().any(|byte| *byte | 0x20 == letter);
        let is_raw = has(b'r');
        let is_format = has(b'f') || has(b't');
        let quote = self.peek(0);
        let is_triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if is_triple { 3 } else { 1 };
        if is_format {
            return self.format_string(start, quote, is_triple, is_raw);
        }
        loop {
            let rest = self.bytes.get(self.at..)?;
            self.at += rest
                .iter()
                .position(|byte| *byte == quote || *byte == b'\\' || *byte == b'\n')?;
            match self.peek(0) {
                b'\\' => {
                    // A raw string's backslash keeps the quote after it from ending the string, too.
                    self.at += if self.peek(1) == b'\r' && self.peek(2) == b'\n' {
                        3
                    } else {
                        2
                    };
                }
                b'\n' if is_triple => self.at += 1,
                b'\n' => return None,
                _ if !is_triple => {
                    self.at += 1;
                    break;
                }
                _ if self.peek(1) == quote && self.peek(2) == quote => {
                    self.at += 3;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.push(Token::Text, start);
        Some(())
    }

    fn format_string(
        &mut self,
        start: usize,
        quote: u8,
        is_triple: bool,
        is_raw: bool,
    ) -> Option<()> {
        self.format_depth += 1;
        if self.format_depth > MAX_FORMAT_DEPTH {
            return None;
        }
        self.push(Token::FormatStart, start);
        let mut text = self.at;
        loop {
            let (byte, next) = (self.peek(0), self.peek(1));
            match byte {
                b'{' | b'}' if next == byte => self.at += 2,
                b'{' => {
                    self.push_text(text);
                    self.field(quote)?;
                    text = self.at;
                }
                b'}' => return None,
                b'\\' if is_raw && (next == quote || next == b'\\') => return None,
                b'\\' if !is_raw && next == b'N' && self.peek(2) == b'{' => {
                    let rest = &self.bytes[self.at..];
                    let length = rest
                        .iter()
                        .position(|byte| *byte == b'}' || *byte == quote)?;
                    self.at += length;
                    if self.peek(0) == quote {
                        return None;
                    }
                    self.at += 1;
                }
                b'\\' if matches!(next, b'{' | b'}') => self.at += 1,
                b'\\' if next == b'\r' => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' if !is_triple => return None,
                _ if self.is_at_end() => return None,
                _ if byte != quote => self.at += 1,
                _ if !is_triple || (next == quote && self.peek(2) == quote) => break,
                _ => self.at += 1,
            }
        }
        self.push_text(text);
        let end = self.at;
        self.at += if is_triple { 3 } else { 1 };
        self.push(Token::FormatEnd, end);
        self.format_depth -= 1;
        Some(())
    }

    /// The text of an f-string from `start` to here.
    fn push_text(&mut self, start: usize) {
        if start < self.at {
            self.push(Token::FormatText, start);
        }
    }

    /// A replacement field in a string with these quotes.
    fn field(&mut self, quote: u8) -> Option<()> {
        let start = self.at;
        self.at += 1;
        self.push(Token::FieldStart, start);
        self.depth += 1;
        let depth = self.depth;
        loop {
            let start = self.at;
            match (self.peek(0), self.peek(1)) {
                (b'}', _) if self.depth == depth => break,
                (b'!', b'a'..=b'z') if self.depth == depth => {
                    self.at += 2;
                    self.push(Token::Conversion, start);
                }
                // The grammar takes this for an assignment.
                (b':', b'=') if self.depth == depth => return None,
                (b':', _) if self.depth == depth => {
                    self.at += 1;
                    self.push(Token::SpecificationStart, start);
                    self.specification(quote)?;
                    break;
                }
                _ if self.is_at_end() || self.depth < depth => return None,
                _ => self.token()?,
            }
        }
        let end = self.at;
        self.at += 1;
        self.push(Token::FieldEnd, end);
        self.depth -= 1;
        Some(())
    }

    /// A format specification up to the end of its field.
    fn specification(&mut self, quote: u8) -> Option<()> {
        loop {
            match self.peek(0) {
                b'}' => return Some(()),
                b'{' => {
                    self.format_depth += 1;
                    if self.format_depth > MAX_FORMAT_DEPTH {
                        return None;
                    }
                    self.field(quote)?;
                    self.format_depth -= 1;
                }
                b'\n' => return None,
                byte if byte == quote || self.is_at_end() => return None,
                _ => self.at += 1,
            }
        }
    }
}
