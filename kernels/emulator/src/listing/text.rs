//! An instruction as text: mnemonic, operands and modifiers.

use super::SourceLine;
use crate::error::{Error, Result};

/// An instruction before its mnemonic is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) line: u32,
    pub(crate) source: Option<SourceLine>,
    pub(crate) mnemonic: String,
    pub(crate) operands: Vec<String>,
    pub(crate) modifiers: Vec<String>,
}

impl Text {
    /// Splits an instruction. Words after an operand, up to the next comma, are modifiers.
    pub(crate) fn parse(word: &str, line: u32, source: Option<SourceLine>) -> Self {
        let (mnemonic, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
        let mut text = Self {
            line,
            source,
            mnemonic: mnemonic.to_owned(),
            operands: Vec::new(),
            modifiers: Vec::new(),
        };
        for piece in split(rest, |c| c == ',') {
            let mut words = split(piece, char::is_whitespace)
                .into_iter()
                .filter(|word| !word.is_empty());
            text.operands.extend(words.next().map(str::to_owned));
            text.modifiers.extend(words.map(str::to_owned));
        }
        text
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.line, format!("{}: {}", self.mnemonic, message.into()))
    }

    /// An operand by position.
    pub(crate) fn operand(&self, at: usize) -> Result<&str> {
        self.operands
            .get(at)
            .map(String::as_str)
            .ok_or_else(|| self.error(format!("operand {} is missing", at + 1)))
    }

    /// Requires a number of operands.
    pub(crate) fn expect_operands(&self, count: usize) -> Result<()> {
        if self.operands.len() == count {
            return Ok(());
        }
        Err(self.error(format!(
            "{} operands instead of {count}",
            self.operands.len()
        )))
    }

    /// Removes a modifier without a value, such as `offen`.
    pub(crate) fn take_flag(&mut self, name: &str) -> bool {
        let before = self.modifiers.len();
        self.modifiers.retain(|modifier| modifier != name);
        self.modifiers.len() < before
    }

    /// Removes a modifier with a value, such as `offset:16`, and returns the value.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self
            .modifiers
            .iter()
            .position(|m| m.split_once(':').is_some_and(|(key, _)| key == name))?;
        let modifier = self.modifiers.remove(at);
        modifier.split_once(':').map(|(_, value)| value.to_owned())
    }

    /// Removes a modifier whose value is an integer.
    pub(crate) fn take_integer(&mut self, name: &str) -> Result<Option<i64>> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match integer(&value) {
                Some(number) => Ok(Some(number)),
                None => Err(self.error(format!("{name}:{value} is not an integer"))),
            },
        }
    }

    /// Removes a modifier whose value is a list of bits, such as `op_sel:[0,1]`.
    pub(crate) fn take_bits(&mut self, name: &str) -> Result<Option<Vec<bool>>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let inner = value
            .strip_prefix('[')
            .and_then(|value| value.strip_suffix(']'));
        let bits = inner.map(|inner| {
            inner.split(',').map(|bit| match bit.trim() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            })
        });
        match bits.and_then(Iterator::collect::<Option<Vec<bool>>>) {
            Some(bits) if bits.len() <= 4 => Ok(Some(bits)),
            _ => Err(self.error(format!("{name}:{value} is not a list of at most four bits"))),
        }
    }

    /// Requires that every modifier was read.
    pub(crate) fn expect_no_modifiers(&self) -> Result<()> {
        match self.modifiers.first() {
            None => Ok(()),
            Some(modifier) => {
                Err(self.error(format!("the modifier {modifier} is not supported here")))
            }
        }
    }
}

/// An integer in decimal or hexadecimal.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    let number = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            i128::from(digits.parse::<u64>().ok()?)
        }
        None => return None,
    };
    // A hexadecimal number of 64 bits is a bit pattern.
    let signed = if negative { -number } else { number };
    Some(i64::try_from(signed).unwrap_or(signed as i64))
}

/// Text before a comment: `;` or `//` outside of quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b';' if !quoted => return &line[..at],
            b'/' if !quoted && bytes.get(at + 1) == Some(&b'/') => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Splits at separators outside of brackets.
fn split(text: &str, separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ if depth <= 0 && separator(c) => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}
