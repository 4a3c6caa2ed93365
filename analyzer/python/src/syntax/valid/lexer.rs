//! Splits valid Python into tokens, with the positions of the grammar's scanner.
//!
//! `None` for everything that the grammar reads differently, or that is not valid.

use super::token::{Spanned, Token};

/// A comment or a continued line, which can be between any two tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) is_comment: bool,
}

pub(super) struct Lexer<'s> {
    pub(super) bytes: &'s [u8],
    pub(super) at: usize,
    pub(super) tokens: Vec<Spanned>,
    pub(super) extras: Vec<Extra>,
    /// The open blocks.
    indents: Vec<u32>,
    /// The open brackets and replacement fields.
    pub(super) depth: usize,
    pub(super) format_depth: usize,
    /// The end of the last token, or of a comment that is in the same block.
    last_end: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer {
            bytes: source.as_bytes(),
            at: 0,
            // About one token for four bytes of ordinary code.
            tokens: Vec::with_capacity(source.len() / 4 + 16),
            extras: Vec::new(),
            indents: vec![0],
            depth: 0,
            format_depth: 0,
            last_end: 0,
        }
    }

    pub(super) fn run(&mut self) -> Option<()> {
        while self.begin_line()? {
            self.line()?;
            // The grammar reads a statement that ends with a comma together with the next line.
            let last = self.tokens.last()?.token;
            if self.depth != 0 || last == Token::Comma {
                return None;
            }
            self.push_empty(Token::Newline);
        }
        let end = self.bytes.len();
        self.last_end = end;
        self.push_empty(Token::End);
        Some(())
    }

    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn push(&mut self, token: Token, start: usize) {
        self.last_end = self.at;
        self.tokens.push(Spanned {
            token,
            start: start as u32,
            end: self.at as u32,
        });
    }

    /// A token without text, after the last one.
    fn push_empty(&mut self, token: Token) {
        let at = self.last_end as u32;
        self.tokens.push(Spanned {
            token,
            start: at,
            end: at,
        });
    }

    /// Skips spaces and line breaks, and returns the indentation after them.
    fn blanks(&mut self, mut indent: u32) -> u32 {
        loop {
            match self.peek(0) {
                b' ' => indent += 1,
                b'\t' => indent += 8,
                b'\r' if self.peek(1) == b'\n' => {}
                b'\x0c' | b'\n' => indent = 0,
                _ => return indent,
            }
            self.at += 1;
        }
    }

    /// Skips blank lines and comments, and opens or closes blocks. False at the end of the source.
    fn begin_line(&mut self) -> Option<bool> {
        let first = self.extras.len();
        let mut indents = Vec::new();
        let mut indent = 0;
        loop {
            indent = self.blanks(indent);
            match self.peek(0) {
                b'#' => {
                    indents.push(indent);
                    self.comment();
                }
                b'\\' => return None,
                _ if self.is_at_end() => {
                    indent = 0;
                    break;
                }
                _ => break,
            }
        }
        // The grammar's scanner counts in 16 bits.
        if indent > u32::from(u16::MAX) {
            return None;
        }
        let mut top = *self.indents.last()?;
        if indent > top {
            self.indents.push(indent);
            self.push_empty(Token::Indent);
        }
        // A block contains the comments after it that are indented as deeply.
        let mut comments = self.extras[first..].iter().zip(indents).peekable();
        while indent < top {
            while let Some((comment, _)) = comments.next_if(|(_, column)| *column >= top) {
                self.last_end = comment.end as usize;
            }
            let at = self.last_end as u32;
            self.tokens.push(Spanned {
                token: Token::Dedent,
                start: at,
                end: at,
            });
            self.indents.pop();
            top = *self.indents.last()?;
            if indent > top {
                return None;
            }
        }
        Some(!self.is_at_end())
    }

    fn comment(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        let length = rest.iter().position(|byte| *byte == b'\n');
        self.at += length.unwrap_or(rest.len());
        self.extras.push(Extra {
            start: start as u32,
            end: self.at as u32,
            is_comment: true,
        });
    }

    /// The tokens up to the end of a logical line.
    pub(super) fn line(&mut self) -> Option<()> {
        loop {
            match self.peek(0) {
                b'\n' if self.depth == 0 => return Some(()),
                b'#' if self.depth == 0 => {
                    self.comment();
                    self.last_end = self.at;
                }
                _ if self.is_at_end() => return Some(()),
                _ => self.token()?,
            }
        }
    }

    /// White space, a comment or a token.
    pub(super) fn token(&mut self) -> Option<()> {
        let start = self.at;
        let byte = self.peek(0);
        match byte {
            b' ' | b'\t' | b'\x0c' => self.at += 1,
            b'\r' if self.peek(1) == b'\n' => self.at += 1,
            b'\n' => self.break_in_brackets()?,
            b'#' => self.comment(),
            b'\\' => self.continuation()?,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word()?,
            b'"' | b'\'' => self.string(start)?,
            b'0'..=b'9' => self.number()?,
            b'.' if self.peek(1).is_ascii_digit() => self.number()?,
            b'(' | b'[' | b'{' => {
                self.depth += 1;
                self.at += 1;
                let token = match byte {
                    b'(' => Token::OpenParenthesis,
                    b'[' => Token::OpenBracket,
                    _ => Token::OpenBrace,
                };
                self.push(token, start);
            }
            b')' | b']' | b'}' => {
                self.depth = self.depth.checked_sub(1)?;
                self.at += 1;
                let token = match byte {
                    b')' => Token::CloseParenthesis,
                    b']' => Token::CloseBracket,
                    _ => Token::CloseBrace,
                };
                self.push(token, start);
            }
            _ => {
                let (token, length) = operator([byte, self.peek(1), self.peek(2)])?;
                self.at += length;
                self.push(token, start);
            }
        }
        Some(())
    }

    /// A line break in brackets. The grammar may take a less indented line for the end of a block.
    fn break_in_brackets(&mut self) -> Option<()> {
        let indent = self.blanks(0);
        (indent >= *self.indents.last()?).then_some(())
    }

    /// A continued line. The grammar has no node for it before a string.
    fn continuation(&mut self) -> Option<()> {
        let first = self.extras.len();
        loop {
            let start = self.at;
            self.at += match (self.peek(1), self.peek(2)) {
                (b'\n', _) => 2,
                (b'\r', b'\n') => 3,
                _ => return None,
            };
            self.extras.push(Extra {
                start: start as u32,
                end: self.at as u32,
                is_comment: false,
            });
            while matches!(self.peek(0), b' ' | b'\t') {
                self.at += 1;
            }
            if self.peek(0) != b'\\' {
                break;
            }
        }
        let word = self.word_length();
        let quote = self.peek(word);
        if matches!(quote, b'"' | b'\'') && is_prefix(&self.bytes[self.at..self.at + word]) {
            self.extras.truncate(first);
        }
        (!matches!(self.peek(0), b'\n' | b'\r' | b'#' | b'\x0c') && !self.is_at_end()).then_some(())
    }

    fn word_length(&self) -> usize {
        let rest = &self.bytes[self.at..];
        let is_other = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
        rest.iter().position(is_other).unwrap_or(rest.len())
    }

    fn word(&mut self) -> Option<()> {
        let start = self.at;
        self.at += self.word_length();
        let word = &self.bytes[start..self.at];
        match self.peek(0) {
            b'"' | b'\'' => {
                if !is_prefix(word) {
                    return None;
                }
                self.string(start)
            }
            // Names in other scripts.
            0x80.. => None,
            _ => {
                self.push(Token::of_word(word), start);
                Some(())
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let mut token = Token::Integer;
        if self.peek(0) == b'0' && matches!(self.peek(1) | 0x20, b'x' | b'o' | b'b') {
            self.at += 2;
            self.digits(u8::is_ascii_hexdigit);
            if self.at == start + 2 {
                return None;
            }
        } else {
            self.digits(u8::is_ascii_digit);
            if self.peek(0) == b'.' {
                token = Token::Float;
                self.at += 1;
                self.digits(u8::is_ascii_digit);
            }
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
                token = Token::Float;
                self.at += 1 + sign;
                self.digits(u8::is_ascii_digit);
            }
            if matches!(self.peek(0), b'j' | b'J') {
                self.at += 1;
            }
        }
        if self.word_length() > 0 || self.peek(0) >= 0x80 {
            return None;
        }
        self.push(token, start);
        Some(())
    }

    fn digits(&mut self, is_digit: fn(&u8) -> bool) {
        while is_digit(&self.peek(0)) || (self.peek(0) == b'_' && is_digit(&self.peek(1))) {
            self.at += 1;
        }
    }
}

/// Letters that the grammar's scanner accepts before a string.
fn is_prefix(word: &[u8]) -> bool {
    word.len() <= 2
        && word
            .iter()
            .all(|byte| matches!(byte | 0x20, b'f' | b't' | b'r' | b'b' | b'u'))
}

/// The operator at the beginning of these bytes, and its length.
fn operator(bytes: [u8; 3]) -> Option<(Token, usize)> {
    let [first, second, _] = bytes;
    let operator = match bytes {
        [b'.', b'.', b'.'] => (Token::Ellipsis, 3),
        [b'*', b'*', b'='] | [b'/', b'/', b'='] | [b'<', b'<', b'='] | [b'>', b'>', b'='] => {
            (Token::AugmentedAssign, 3)
        }
        [b'*', b'*', _] => (Token::Power, 2),
        [b'/', b'/', _] => (Token::DoubleSlash, 2),
        [b'<', b'<', _] => (Token::ShiftLeft, 2),
        [b'>', b'>', _] => (Token::ShiftRight, 2),
        [b'=', b'=', _] => (Token::Equal, 2),
        [b'!', b'=', _] => (Token::NotEqual, 2),
        [b'<', b'=', _] => (Token::LessEqual, 2),
        [b'>', b'=', _] => (Token::GreaterEqual, 2),
        [b':', b'=', _] => (Token::ColonEqual, 2),
        [b'-', b'>', _] => (Token::Arrow, 2),
        [
            b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^',
            b'=',
            _,
        ] => (Token::AugmentedAssign, 2),
        _ => {
            let token = match first {
                b',' => Token::Comma,
                b':' => Token::Colon,
                b';' => Token::Semicolon,
                b'.' => Token::Dot,
                b'@' => Token::At,
                b'=' => Token::Assign,
                b'+' => Token::Plus,
                b'-' => Token::Minus,
                b'*' => Token::Times,
                b'/' => Token::Slash,
                b'%' => Token::Percent,
                b'|' => Token::Pipe,
                b'&' => Token::Ampersand,
                b'^' => Token::Caret,
                b'~' => Token::Tilde,
                b'<' => Token::Less,
                b'>' => Token::Greater,
                _ => return None,
            };
            (token, 1)
        }
    };
    // Python 2's operator, which the grammar knows.
    (!(first == b'<' && second == b'>')).then_some(operator)
}
