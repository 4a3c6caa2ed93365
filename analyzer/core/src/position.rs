//! Converts byte offsets to the units of all consumers: UTF-16 offsets, lines, columns. Independent of syntax.

use std::ops::Range;

use crate::report::{Position, Span};

/// The line starts of a source.
pub struct LineIndex<'a> {
    source: &'a str,
    lines: Vec<Place>,
    /// A position every [`STEP`] bytes, because a file may be a single line.
    marks: Vec<Place>,
}

/// The distance between two marks, in bytes.
const STEP: usize = 1024;

/// A byte offset with the counts of the text before it.
#[derive(Clone, Copy, Default)]
struct Place {
    byte: usize,
    characters: usize,
    utf16: usize,
}

impl<'a> LineIndex<'a> {
    /// Indexes the lines of `source`: `\n`, `\r\n` and a lone `\r` each end one.
    pub fn new(source: &'a str) -> Self {
        let mut lines = vec![Place::default()];
        let mut marks = Vec::with_capacity(source.len() / STEP + 1);
        let mut place = Place::default();
        let bytes = source.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            place.byte = at;
            // A character's first byte determines its units; continuation bytes, 0b10……, are not counted.
            let is_first = byte & 0xC0 != 0x80;
            if is_first && at >= marks.len() * STEP {
                marks.push(place);
            }
            place.characters += usize::from(is_first);
            place.utf16 += usize::from(is_first) + usize::from(*byte >= 0xF0);
            let ends_line = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends_line {
                place.byte = at + 1;
                lines.push(place);
            }
        }
        LineIndex {
            source,
            lines,
            marks,
        }
    }

    /// The position of a byte offset; an offset inside a character is treated as its start.
    pub fn position(&self, byte: usize) -> Position {
        let byte = self.source.floor_char_boundary(byte);
        // The first line starts at 0, so there is always one before.
        let number = up_to(&self.lines, byte);
        let line = self.lines[number - 1];
        let mark = self.marks.get(up_to(&self.marks, byte).wrapping_sub(1));
        let near = mark
            .copied()
            .filter(|mark| mark.byte > line.byte)
            .unwrap_or(line);
        let between = self.source.get(near.byte..byte).unwrap_or_default();
        let characters = near.characters - line.characters + between.chars().count();
        let hidden = usize::from(number == 1 && byte > 0 && self.source.starts_with(MARK));
        Position {
            byte: byte as u32,
            utf16: (near.utf16 + between.encode_utf16().count()) as u32,
            line: number as u32,
            column: (characters - hidden) as u32 + 1,
        }
    }

    /// The span of a byte range.
    pub fn span(&self, range: Range<usize>) -> Span {
        Span {
            start: self.position(range.start),
            end: self.position(range.end),
        }
    }

    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> u32 {
        up_to(&self.lines, byte) as u32
    }

    /// The start of a line, from 1; the end of the text past its last line.
    pub fn start(&self, line: u32) -> usize {
        let index = (line as usize).saturating_sub(1);
        self.lines
            .get(index)
            .map_or(self.source.len(), |line| line.byte)
    }

    /// The text of a line, from 1, without its line break.
    pub fn text(&self, line: u32) -> &'a str {
        let index = line as usize;
        let start = index.checked_sub(1).and_then(|index| self.lines.get(index));
        let end = self
            .lines
            .get(index)
            .map_or(self.source.len(), |line| line.byte);
        let text = start
            .and_then(|start| self.source.get(start.byte..end))
            .unwrap_or_default()
            .trim_end_matches(['\n', '\r']);
        if line == 1 { without_mark(text) } else { text }
    }
}

/// The number of `places`, which are sorted, that are at or before `byte`.
fn up_to(places: &[Place], byte: usize) -> usize {
    places.partition_point(|place| place.byte <= byte)
}

/// A byte order mark is not displayed or counted.
const MARK: char = '\u{feff}';

fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The line ending that the source uses.
pub fn newline(source: &str) -> &'static str {
    if source.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, needle: &str) -> (u32, u32, u32, u32) {
        let position = LineIndex::new(source).position(source.find(needle).expect("in the source"));
        (
            position.byte,
            position.utf16,
            position.line,
            position.column,
        )
    }

    #[test]
    fn byte_order_mark_is_counted_but_not_part_of_the_line() {
        assert_eq!(at("\u{feff}ab", "b"), (4, 2, 1, 2));
        assert_eq!(LineIndex::new("\u{feff}ab\n").text(1), "ab");
    }

    #[test]
    fn bytes_utf16_units_and_characters_are_counted_separately() {
        // é: 2 bytes, 1 unit. 名: 3 bytes, 1 unit. 🚀: 4 bytes, 2 units.
        assert_eq!(at("é名🚀x", "x"), (9, 4, 1, 4));
    }

    /// Compares with a count from the beginning: before, at and after each mark, and within characters.
    #[test]
    fn long_line_is_counted_from_the_previous_mark() {
        let source = format!("\u{feff}one\n{}", "aé名🚀".repeat(700));
        let index = LineIndex::new(&source);
        for byte in (0..=source.len()).step_by(7) {
            let whole = &source[..source.floor_char_boundary(byte)];
            let shown = without_mark(whole.rsplit('\n').next().unwrap_or_default());
            let position = index.position(byte);
            let expected = (whole.encode_utf16().count(), shown.chars().count() + 1);
            assert_eq!(
                (position.utf16 as usize, position.column as usize),
                expected,
                "{byte}"
            );
        }
    }

    #[test]
    fn each_line_ending_ends_one_line() {
        assert_eq!(at("a\nb\r\nc\rd", "b"), (2, 2, 2, 1));
        assert_eq!(at("a\nb\r\nc\rd", "c"), (5, 5, 3, 1));
        assert_eq!(at("a\nb\r\nc\rd", "d"), (7, 7, 4, 1));
    }

    #[test]
    fn offsets_at_and_beyond_the_end_have_a_position() {
        let index = LineIndex::new("a\n");
        assert_eq!(index.position(2).line, 2);
        assert_eq!(index.position(99).byte, 2);
    }

    #[test]
    fn line_is_returned_without_its_ending() {
        let index = LineIndex::new("one\r\ntwo");
        assert_eq!(
            (index.text(1), index.text(2), index.text(3)),
            ("one", "two", "")
        );
    }
}
