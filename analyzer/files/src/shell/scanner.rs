//! The words of a script: quotes, substitutions and the position.

use super::super::text::Text;

pub(super) struct Scanner<'a> {
    pub text: Text<'a>,
    pub at: usize,
    /// The text is a command of a makefile, in which `$<` is a file and no redirection.
    pub is_recipe: bool,
    /// The contents of `$(…)` and backticks that were passed.
    pub substituted: Vec<Text<'a>>,
    /// Some `$(` or `${` has no end, so the end of others is not searched.
    open_substitution: bool,
    open_expansion: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: Text<'a>) -> Self {
        Scanner {
            text,
            at: 0,
            is_recipe: false,
            substituted: Vec::new(),
            open_substitution: false,
            open_expansion: false,
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.as_str().len()
    }

    /// The byte at the position, or after it; 0 after the end.
    pub(super) fn byte(&self, offset: usize) -> u8 {
        let bytes = self.text.as_str().as_bytes();
        bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.from(self.at).as_str()
    }

    /// Skips a word, including its quotes and substitutions.
    pub(super) fn word(&mut self) -> Text<'a> {
        let start = self.at;
        while !self.is_at_end() {
            match self.byte(0) {
                // `TORCH_CUDA_ARCH_LIST=8.6;8.9` in a `.env` file
                b';' if self.byte(1).is_ascii_digit() => self.at += 1,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    break;
                }
                b'\\' => self.at += 2,
                b'\'' => self.quoted(b'\''),
                b'"' => self.quoted(b'"'),
                b'$' if self.is_recipe && matches!(self.byte(1), b'<' | b'(' | b'{') => {
                    self.at += if self.byte(1) == b'<' {
                        2
                    } else {
                        self.make_variable()
                    };
                }
                b'$' | b'`' => self.substitution(),
                _ => self.at += 1,
            }
        }
        let text = self.text.as_str();
        self.at = text.ceil_char_boundary(self.at.min(text.len()));
        self.text.part(start..self.at)
    }

    /// The length of a makefile's `$(NAME)` or `${NAME}`.
    fn make_variable(&self) -> usize {
        let name = self.rest().bytes().skip(2);
        let length = name
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
            .count();
        // A function such as `$(wildcard *.cu)` is read as text.
        2 + length + usize::from(matches!(self.byte(2 + length), b')' | b'}'))
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while !self.is_at_end() {
            match self.byte(0) {
                byte if byte == quote => {
                    self.at += 1;
                    return;
                }
                b'\\' if quote == b'"' => self.at += 2,
                b'$' | b'`' if quote == b'"' => self.substitution(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips `$…`; the contents of `$(…)` or backticks are stored for parsing.
    fn substitution(&mut self) {
        let rest = self.rest();
        if rest.starts_with("${") {
            // `${NAME:-value}` is one word, including blanks.
            let end = (!self.open_expansion).then(|| rest.find('}')).flatten();
            self.open_expansion = end.is_none();
            self.at += end.unwrap_or(1) + 1;
            return;
        }
        let is_backtick = rest.starts_with('`');
        let is_command = rest.starts_with("$(") && !rest.starts_with("$((");
        if self.open_substitution || !is_backtick && !is_command {
            self.at += 1;
            return;
        }
        let (open, close) = if is_backtick {
            (1, rest[1..].find('`').map(|end| end + 1))
        } else {
            (2, closing(rest))
        };
        match close {
            Some(close) => {
                self.substituted
                    .push(self.text.part(self.at + open..self.at + close));
                self.at += close + 1;
            }
            None => {
                self.open_substitution = true;
                self.at += 1;
            }
        }
    }
}

/// Words of a line that is not a command, such as a container's options.
pub(in super::super) fn words(line: Text<'_>) -> Vec<Text<'_>> {
    let mut scanner = Scanner::new(line);
    let mut words = Vec::new();
    while !scanner.is_at_end() {
        match scanner.byte(0) {
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                scanner.at += 1
            }
            b'\\' if matches!(scanner.byte(1), b'\n' | b'\r') => scanner.at += 2,
            _ => words.push(scanner.word().unquoted()),
        }
    }
    words
}

/// The position of the parenthesis that closes the `$(` at the start of `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = 0;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match byte {
            b'\\' => escaped = true,
            b'\'' | b'"' if quote == 0 => quote = byte,
            _ if byte == quote => quote = 0,
            b'(' if quote == 0 => depth += 1,
            b')' if quote == 0 => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
