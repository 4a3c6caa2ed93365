//! JSON as positions in its text, for notebooks and lock files.

use std::ops::Range;

/// A partial JSON parser that finds the strings.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a str,
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Reader { source, at: 0 }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    pub(crate) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.at == 0 && self.source.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
            self.space();
        }
    }

    pub(crate) fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// The content of the next string.
    pub(crate) fn string(&mut self) -> Option<Range<usize>> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(start..self.at - 1)
    }

    /// Skips any value; brackets are counted, so that any nesting depth is supported.
    pub(crate) fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.space();
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
                    }) {
                        self.at += 1;
                    }
                    (self.at > start).then_some(())?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            self.space();
            let name = self.string()?;
            self.take(b':')?;
            field(self, self.source.get(name)?)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }
}
