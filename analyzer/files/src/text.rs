//! A part of a file with its position in the file, independent of the format.

use std::ops::Range;

/// A part of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Text<'a> {
    /// The whole source.
    pub fn whole(source: &'a str) -> Self {
        Text {
            text: source,
            start: 0,
        }
    }

    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// Its range in the source.
    pub fn range(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// The part at `range`, relative to its own start; empty if there is no such part.
    pub fn part(self, range: Range<usize>) -> Self {
        match self.text.get(range.clone()) {
            Some(text) => Text {
                text,
                start: self.start + range.start,
            },
            None => Text {
                text: "",
                start: self.start,
            },
        }
    }

    pub fn from(self, at: usize) -> Self {
        self.part(at..self.text.len())
    }

    pub fn to(self, at: usize) -> Self {
        self.part(0..at)
    }

    pub fn trim(self) -> Self {
        let end = self.text.trim_end().len();
        let start = end - self.text.trim_end().trim_start().len();
        self.part(start..end)
    }

    /// Without the surrounding quotes, if it begins and ends with the same quote.
    pub fn unquoted(self) -> Self {
        let bytes = self.text.as_bytes();
        match bytes {
            [b'"' | b'\'', .., last] if *last == bytes[0] => self.part(1..bytes.len() - 1),
            _ => self,
        }
    }

    /// The parts before and after the first `separator`.
    pub fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let at = self.text.find(separator)?;
        Some((self.to(at), self.from(at + separator.len_utf8())))
    }

    /// Its lines without line breaks.
    pub fn lines(self) -> impl Iterator<Item = Text<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let text = rest.filter(|text| !text.is_empty())?;
            let (line, after) = match text.split_once('\n') {
                Some((line, after)) => (line, Some(after)),
                None => (text, None),
            };
            rest = after;
            Some(line.to(line.text.trim_end_matches('\r').len()))
        })
    }

    /// Its words, separated by white space.
    pub fn words(self) -> impl Iterator<Item = Text<'a>> {
        self.split(char::is_whitespace)
    }

    /// The pieces between characters for which `parts` returns true, without empty ones.
    pub fn split(self, parts: impl Fn(char) -> bool) -> impl Iterator<Item = Text<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = self.text.get(at..)?;
            let start = at + rest.find(|c| !parts(c))?;
            let length = self.text.get(start..)?.find(&parts);
            let end = length.map_or(self.text.len(), |length| start + length);
            at = end;
            Some(self.part(start..end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_has_its_position_in_the_source() {
        let source = "a = 'bé' \r\n  c";
        let text = Text::whole(source);
        let (_, value) = text.split_once('=').expect("an equals sign");
        let value = value.to(6).trim().unquoted();
        assert_eq!((value.as_str(), &source[value.range()]), ("bé", "bé"));
        let lines: Vec<_> = text.lines().map(Text::as_str).collect();
        assert_eq!(lines, ["a = 'bé' ", "  c"]);
        let words: Vec<_> = text.words().map(|word| &source[word.range()]).collect();
        assert_eq!(words, ["a", "=", "'bé'", "c"]);
        assert!(text.part(6..7).is_empty(), "half of the é");
        assert!(text.from(99).is_empty());
    }
}
