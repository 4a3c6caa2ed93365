//! The cells of a notebook as one Python module, and the mapping of its positions to the JSON text.

use std::ops::Range;

use super::cells::Cell;
use super::magics::{self, Line};

/// A piece of the module that has the same length in the JSON text, or one character that is an escape there.
struct Piece {
    module: usize,
    json: usize,
    /// The number of bytes of the character's escape; 0 for plain text.
    escape: usize,
}

/// The start of a cell's code in the module.
struct Start {
    module: usize,
    number: usize,
    /// The separator between two strings of the cell's list, for a text of several lines; `None` for a single string.
    between: Option<String>,
}

/// The code of the cells, concatenated.
pub(super) struct Module {
    /// Python, with comments in place of magics and commands.
    pub(super) python: String,
    /// The commands at their positions, with the same length.
    pub(super) commands: String,
    /// The ranges of the commands in `commands`.
    pub(super) shell: Vec<Range<usize>>,
    pieces: Vec<Piece>,
    starts: Vec<Start>,
    /// The ends of the strings in the JSON text.
    ends: Vec<usize>,
}

impl Module {
    /// Joins the cells.
    pub(super) fn new(source: &str, cells: &[Cell]) -> Module {
        let mut module = Module {
            python: String::new(),
            commands: String::new(),
            shell: Vec::new(),
            pieces: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
        };
        for cell in cells {
            let start = module.commands.len();
            module.starts.push(Start {
                module: start,
                number: cell.number,
                between: cell.between(source),
            });
            for string in &cell.strings {
                module.decode(source, string.clone());
                module.ends.push(string.end);
            }
            if !module.commands.is_empty() && !module.commands.ends_with('\n') {
                // The line break that a cell's last line lacks is not in the JSON text: it counts as the cell's end.
                let end = cell.strings.last().map_or(0, |last| last.end);
                module.pieces.push(Piece {
                    module: module.commands.len(),
                    json: end,
                    escape: NO_BYTES,
                });
                module.commands.push('\n');
            }
            module.take_python(start);
        }
        module
    }

    /// Appends the decoded value of a JSON string.
    fn decode(&mut self, source: &str, range: Range<usize>) {
        let text = source.get(range.clone()).unwrap_or_default();
        let mut at = 0;
        while at < text.len() {
            let rest = text.get(at..).unwrap_or_default();
            let plain = rest.find('\\').unwrap_or(rest.len());
            let (character, length) = if plain > 0 { ('\0', 0) } else { escape(rest) };
            self.pieces.push(Piece {
                module: self.commands.len(),
                json: range.start + at,
                escape: length,
            });
            if plain > 0 {
                self.commands.push_str(&rest[..plain]);
                at += plain;
            } else {
                // With a NUL the module would not be analyzed.
                self.commands
                    .push(if character == '\0' { ' ' } else { character });
                at += length;
            }
        }
    }

    /// Converts the cell that begins at `start` to Python, and stores the positions of its commands.
    fn take_python(&mut self, start: usize) {
        let cell = self.commands.get(start..).unwrap_or_default();
        for line in magics::lines(cell) {
            match line {
                Line::Python(text) => self.python.push_str(text),
                Line::Command {
                    text,
                    command,
                    blank,
                } => {
                    let begin = self.python.len();
                    self.python.push_str(&blank);
                    // A comment of the same length, so that positions in both texts are the same.
                    self.python
                        .push_str(text.get(blank.len()..).unwrap_or_default());
                    self.shell.push(begin + command.start..begin + command.end);
                }
                Line::Other { text, blank } => {
                    self.python.push_str(&blank);
                    self.python
                        .push_str(text.get(blank.len()..).unwrap_or_default());
                }
                Line::Continued { text, is_command } => {
                    blank_out(&mut self.python, text);
                    if let Some(command) = self.shell.last_mut().filter(|_| is_command) {
                        command.end = self.python.len();
                    }
                }
                Line::Foreign { text, is_shell } => {
                    let begin = self.python.len();
                    blank_out(&mut self.python, text);
                    if is_shell {
                        self.shell.push(begin..begin + text.len());
                    }
                }
            }
        }
    }

    fn start(&self, at: usize) -> Option<&Start> {
        let index = self.starts.partition_point(|start| start.module <= at);
        self.starts.get(index.checked_sub(1)?)
    }

    /// The number of the cell that contains the byte `at` of the module.
    pub(super) fn cell(&self, at: usize) -> usize {
        self.start(at).map_or(1, |start| start.number)
    }

    fn place(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|piece| piece.module <= at);
        match index
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index))
        {
            // Past an escape, or past the line break that is not in the JSON text.
            Some(piece) if piece.escape == NO_BYTES => piece.json,
            Some(piece) if piece.escape > 0 && at > piece.module => piece.json + piece.escape,
            Some(piece) => piece.json + (at - piece.module),
            None => self.pieces.first().map_or(0, |piece| piece.json),
        }
    }

    /// The end of a range: the end of its last character, not the start of the next string.
    fn place_end(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|piece| piece.module < at);
        match index
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index))
        {
            Some(piece) if piece.escape == NO_BYTES => piece.json,
            Some(piece) if piece.escape > 0 => piece.json + piece.escape,
            Some(piece) => piece.json + (at - piece.module),
            None => self.place(at),
        }
    }

    /// The position of a range of the module in the JSON text.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.place(range.start);
        let end = if range.is_empty() {
            start
        } else {
            self.place_end(range.end)
        };
        start..end.max(start)
    }

    /// Converts an edit of the module to an edit of the JSON text; `None` if it spans cells.
    pub(super) fn edit(&self, range: Range<usize>, text: &str) -> Option<(Range<usize>, String)> {
        let start = self.start(range.start)?;
        let last = range.end.saturating_sub(usize::from(!range.is_empty()));
        let inside = self
            .start(last)
            .is_some_and(|end| end.module == start.module);
        let range = inside.then(|| self.edited(&range))?;
        let ends_string = self.ends.binary_search(&range.end).is_ok();
        let text = json(text, start.between.as_deref(), ends_string);
        Some((range, text))
    }

    /// An insertion after a line's text stays in that line's string.
    fn edited(&self, range: &Range<usize>) -> Range<usize> {
        if !range.is_empty() {
            return self.range(range.clone());
        }
        let is_cell_start = self.starts.iter().any(|start| start.module == range.start);
        let follows_line = self.python.as_bytes().get(range.start.wrapping_sub(1)) == Some(&b'\n');
        let at = if is_cell_start || follows_line {
            self.place(range.start)
        } else {
            self.place_end(range.start)
        };
        at..at
    }
}

/// Replaces `text` by spaces, with the same number of bytes and lines.
fn blank_out(out: &mut String, text: &str) {
    out.extend(text.chars().flat_map(|c| {
        let fill = if matches!(c, '\n' | '\r') { c } else { ' ' };
        std::iter::repeat_n(fill, c.len_utf8())
    }));
}

/// Marks a character that is not in the JSON text.
const NO_BYTES: usize = usize::MAX;

/// The character of an escape, and the length of the escape.
fn escape(text: &str) -> (char, usize) {
    let hex = |at: usize| {
        text.get(at..at + 4)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    match text.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => match hex(2) {
            Some(high @ 0xD800..0xDC00) if text.get(6..8) == Some("\\u") => match hex(8) {
                Some(low @ 0xDC00..0xE000) => {
                    let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    (
                        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                        12,
                    )
                }
                _ => (char::REPLACEMENT_CHARACTER, 6),
            },
            Some(code) => (
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                6,
            ),
            None => (char::REPLACEMENT_CHARACTER, 2),
        },
        Some(byte) if byte.is_ascii() => (char::from(*byte), 2),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// `text` inside of a JSON string; each line is a separate string if the cell's lines are. A line break at the end of
/// the string does not start another one.
fn json(text: &str, between: Option<&str>, ends_string: bool) -> String {
    let mut out = String::new();
    for (at, character) in text.char_indices() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => {
                out.push_str("\\n");
                if let Some(between) = between.filter(|_| at + 1 < text.len() || !ends_string) {
                    out.push_str(between);
                }
            }
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", character as u32)),
            _ => out.push(character),
        }
    }
    out
}
