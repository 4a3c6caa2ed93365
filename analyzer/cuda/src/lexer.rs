//! Splits text into tokens, in one linear pass that accepts any text.
//!
//! An unterminated string ends at its line; an unterminated comment or raw string ends at the end of the text.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword.
    Word,
    /// A number.
    Number,
    /// A string, including raw strings; the rest of an `#error` line.
    Text,
    /// `'x'`.
    Character,
    /// `<header>` or `"header"` after `#include`.
    Header,
    /// A punctuator; `::`, `->` and `<<<` are single tokens.
    Sign,
}

/// A token: a range of the text.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub start: u32,
    pub end: u32,
    pub kind: Kind,
}

/// A preprocessor line, including continuations: the range of its tokens, from its `#` on.
pub type Directive = Range<u32>;

/// The tokens of a text.
#[derive(Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Range<usize>>,
    pub directives: Vec<Directive>,
}

/// Splits `text` into tokens.
pub fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        directive: None,
        lexed: Lexed::default(),
    };
    lexer.run();
    lexer.lexed
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The first token of the current preprocessor line.
    directive: Option<u32>,
    lexed: Lexed,
}

impl Lexer<'_> {
    fn run(&mut self) {
        let mut line_is_empty = true;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    self.end_directive();
                    line_is_empty = true;
                    self.at += 1;
                    continue;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    continue;
                }
                b'\\' if self.is_continuation() => {
                    self.skip_continuation();
                    continue;
                }
                b'/' if self.peek(1) == Some(b'/') => {
                    self.line_comment();
                    continue;
                }
                b'/' if self.peek(1) == Some(b'*') => {
                    self.block_comment();
                    continue;
                }
                b'#' if line_is_empty && self.directive.is_none() => {
                    self.directive = Some(self.lexed.tokens.len() as u32);
                    self.push(1, Kind::Sign);
                }
                _ => self.token(byte),
            }
            line_is_empty = false;
        }
        self.end_directive();
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn push(&mut self, length: usize, kind: Kind) {
        self.lexed.tokens.push(Token {
            start: self.at as u32,
            end: (self.at + length) as u32,
            kind,
        });
        self.at += length;
    }

    fn end_directive(&mut self) {
        if let Some(first) = self.directive.take() {
            let end = self.lexed.tokens.len() as u32;
            self.lexed.directives.push(first..end);
        }
    }

    /// A backslash followed only by the end of the line.
    fn is_continuation(&self) -> bool {
        match self.peek(1) {
            Some(b'\n') => true,
            Some(b'\r') => self.peek(2) == Some(b'\n'),
            _ => false,
        }
    }

    fn skip_continuation(&mut self) {
        self.at += if self.peek(1) == Some(b'\n') { 2 } else { 3 };
    }

    fn line_comment(&mut self) {
        let start = self.at;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => break,
                b'\\' if self.is_continuation() => self.skip_continuation(),
                _ => self.at += 1,
            }
        }
        self.lexed.comments.push(start..self.at);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let rest = self.text.get(start + 2..).unwrap_or_default();
        self.at = rest
            .find("*/")
            .map_or(self.bytes.len(), |length| start + 2 + length + 2);
        self.lexed.comments.push(start..self.at);
    }

    fn token(&mut self, byte: u8) {
        match byte {
            b'"' if self.directive_name() == "include" => self.header(b'"'),
            b'<' if self.directive_name() == "include" => self.header(b'>'),
            b'"' => self.quoted(b'"', Kind::Text),
            b'\'' => self.quoted(b'\'', Kind::Character),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
            _ if is_word(byte) => self.word(),
            b':' if self.peek(1) == Some(b':') => self.push(2, Kind::Sign),
            b'-' if self.peek(1) == Some(b'>') => self.push(2, Kind::Sign),
            b'<' if self.peek(1) == Some(b'<') && self.peek(2) == Some(b'<') => {
                self.push(3, Kind::Sign);
            }
            _ => self.push(1, Kind::Sign),
        }
    }

    /// `include` on an `#include` line; otherwise empty.
    fn directive_name(&self) -> &str {
        self.directive
            .and_then(|first| self.lexed.tokens.get(first as usize + 1))
            .and_then(|name| self.text.get(name.start as usize..name.end as usize))
            .unwrap_or_default()
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|byte| !is_word(*byte) && !byte.is_ascii_digit())
            .unwrap_or(rest.len());
        if matches!(&rest[..length], b"R" | b"u8R" | b"uR" | b"UR" | b"LR")
            && rest.get(length) == Some(&b'"')
        {
            return self.raw_string(length);
        }
        self.push(length, Kind::Word);
        // The rest is a text for people, and may contain apostrophes.
        if matches!(self.directive_name(), "error" | "warning")
            && self.directive == Some(self.lexed.tokens.len() as u32 - 2)
        {
            let rest = &self.bytes[self.at..];
            let length = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
            self.push(length, Kind::Text);
        }
    }

    fn number(&mut self) {
        let rest = &self.bytes[self.at..];
        let mut length = 1;
        while let Some(byte) = rest.get(length) {
            let before = rest[length - 1];
            let belongs = byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'.')
                || (*byte == b'\'' && rest.get(length + 1).is_some_and(u8::is_ascii_hexdigit))
                || (matches!(byte, b'+' | b'-')
                    && (matches!(before, b'p' | b'P')
                        || (matches!(before, b'e' | b'E') && !is_hexadecimal(rest))));
            if !belongs {
                break;
            }
            length += 1;
        }
        self.push(length, Kind::Number);
    }

    fn quoted(&mut self, quote: u8, kind: Kind) {
        let rest = &self.bytes[self.at..];
        let mut length = 1;
        while let Some(byte) = rest.get(length) {
            match byte {
                b'\n' => break,
                b'\\' if rest.get(length + 1) == Some(&b'\r') => length += 3,
                b'\\' => length += 2,
                byte if *byte == quote => {
                    length += 1;
                    break;
                }
                _ => length += 1,
            }
        }
        let mut end = (self.at + length).min(self.bytes.len());
        // The backslash may precede a character of more than one byte.
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        self.push(end - self.at, kind);
    }

    fn raw_string(&mut self, prefix: usize) {
        let rest = self.text.get(self.at + prefix + 1..).unwrap_or_default();
        // The standard allows sixteen characters.
        let delimiter = rest
            .find('(')
            .filter(|length| *length <= 16)
            .and_then(|length| rest.get(..length));
        let Some(delimiter) = delimiter else {
            return self.push(prefix, Kind::Word);
        };
        let end = rest
            .find(&format!("){delimiter}\""))
            .map_or(rest.len(), |at| at + delimiter.len() + 2);
        self.push(prefix + 1 + end, Kind::Text);
    }

    fn header(&mut self, close: u8) {
        let rest = &self.bytes[self.at + 1..];
        let length = rest
            .iter()
            .position(|byte| *byte == close || *byte == b'\n')
            .unwrap_or(rest.len());
        let closed = rest.get(length) == Some(&close);
        self.push(1 + length + usize::from(closed), Kind::Header);
    }
}

/// Letters of every script, `_` and `$`; digits may follow.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn is_hexadecimal(number: &[u8]) -> bool {
    matches!(number, [b'0', b'x' | b'X', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        lex(text)
            .tokens
            .iter()
            .map(|token| &text[token.start as usize..token.end as usize])
            .collect()
    }

    #[test]
    fn lexes_every_kind_of_token() {
        assert_eq!(
            words("a<<<1'000, 0x1p-3>>>(b->c, std::d); // e\n"),
            [
                "a", "<<<", "1'000", ",", "0x1p-3", ">", ">", ">", "(", "b", "->", "c", ",", "std",
                "::", "d", ")", ";"
            ]
        );
        assert_eq!(
            words("x = R\"q(\"a)\" )q\"; u8\"b\""),
            ["x", "=", "R\"q(\"a)\" )q\"", ";", "u8", "\"b\""]
        );
        assert_eq!(
            words("0xfe+1 1e+5 .5f"),
            ["0xfe", "+", "1", "1e+5", ".5f"],
            "a hexadecimal number has no exponent behind `e`"
        );
    }

    #[test]
    fn backslash_continues_a_preprocessor_line() {
        let text = "#define F(x) \\\n  g(x)\n#include <a.h>\n#error it's late\nint b; # c\n";
        let lexed = lex(text);
        let lines: Vec<_> = lexed
            .directives
            .iter()
            .map(|line| {
                let (first, last) = (line.start as usize, line.end as usize - 1);
                &text[lexed.tokens[first].start as usize..lexed.tokens[last].end as usize]
            })
            .collect();
        assert_eq!(
            lines,
            [
                "#define F(x) \\\n  g(x)",
                "#include <a.h>",
                "#error it's late"
            ]
        );
    }

    #[test]
    fn unterminated_tokens_end() {
        assert_eq!(words("\"a\nb"), ["\"a", "b"]);
        assert_eq!(words("'a\nb"), ["'a", "b"]);
        assert_eq!(words("a /* b"), ["a"]);
        assert_eq!(words("R\"x(a"), ["R\"x(a"]);
        assert_eq!(words("\"a\\é"), ["\"a\\é"]);
        assert_eq!(words("#include <a"), ["#", "include", "<a"]);
    }
}
