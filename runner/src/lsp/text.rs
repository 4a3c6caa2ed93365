//! Converts between editor positions and byte offsets.

use gen_lsp_types::{Position, Range};
use hipward_analyzer::Span;

/// The unit of an editor's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
}

impl Encoding {
    fn length(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// A text with the offsets of its lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'t> Lines<'t> {
    /// `\n`, `\r\n` and a single `\r` each end a line, as in the LSP specification.
    pub(super) fn new(text: &'t str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (index, byte) in bytes.iter().enumerate() {
            let ends_line = match byte {
                b'\n' => true,
                b'\r' => bytes.get(index + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends_line {
                starts.push(index + 1);
            }
        }
        Lines {
            text,
            starts,
            encoding,
        }
    }

    /// The byte offset of a position. A position past a line's end means the end.
    pub(super) fn byte(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return self.text.len();
        };
        let end = self.starts.get(line + 1).copied();
        let whole = &self.text[start..end.unwrap_or(self.text.len())];
        let content = whole.trim_end_matches(['\n', '\r']);
        let mut units = 0;
        for (offset, character) in content.char_indices() {
            if units >= position.character as usize {
                return start + offset;
            }
            units += self.encoding.length(character.encode_utf8(&mut [0; 4]));
        }
        start + content.len()
    }

    /// The position of a byte offset.
    pub(super) fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let before = &self.text[self.starts[line]..byte];
        Position {
            line: line as u32,
            character: self.encoding.length(before) as u32,
        }
    }

    /// The range of a byte range.
    pub(super) fn range(&self, bytes: std::ops::Range<usize>) -> Range {
        Range {
            start: self.position(bytes.start),
            end: self.position(bytes.end),
        }
    }

    /// The range of a span of a report.
    pub(super) fn of_span(&self, span: &Span) -> Range {
        self.range(span.start.byte as usize..span.end.byte as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_round_trip_in_both_encodings() {
        let text = "a\r\né🚀b\rc\n";
        for (encoding, byte, line, character) in [
            (Encoding::Utf16, 0, 0, 0),
            (Encoding::Utf16, 9, 1, 3),
            (Encoding::Utf8, 9, 1, 6),
            (Encoding::Utf16, 11, 2, 0),
            (Encoding::Utf8, 13, 3, 0),
        ] {
            let lines = Lines::new(text, encoding);
            let position = Position { line, character };
            assert_eq!(lines.position(byte), position, "{encoding:?} {byte}");
            assert_eq!(lines.byte(position), byte, "{encoding:?} {byte}");
        }
    }

    #[test]
    fn positions_outside_are_clamped() {
        let lines = Lines::new("ab\ncd", Encoding::Utf16);
        let byte = |line, character| lines.byte(Position { line, character });
        assert_eq!(byte(0, 99), 2);
        assert_eq!(byte(1, 99), 5);
        assert_eq!(byte(99, 0), 5);
    }
}
