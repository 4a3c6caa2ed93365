//! Findings for a terminal, each with the lines it is about.

use std::fmt::Write;

use super::{FileReport, Format, whole};
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::{Applicability, Finding, Severity};

/// Whether to use terminal colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Escape sequences.
    Ansi,
    /// Plain text.
    Plain,
}

impl Colour {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Colour::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
            Colour::Plain => text.to_owned(),
        }
    }
}

/// The maximum number of quoted lines of one finding.
const MAX_LINES: u32 = 4;
/// The maximum number of quoted characters of a line. A minified source can be a single line of megabytes.
const MAX_COLUMNS: usize = 240;
/// Of a longer line, the number of quoted characters before the finding.
const COLUMNS_BEFORE: usize = 40;

/// One block for each finding and note.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub Colour);

impl Format for Text {
    fn file(&self, file: &FileReport<'_>) -> String {
        let Text(colour) = *self;
        let mut out = String::new();
        if file.report.notes.is_empty() && file.report.findings.is_empty() {
            return out;
        }
        let lines = LineIndex::new(file.source);
        for note in &file.report.notes {
            let line = note.line.map(|line| format!(":{line}")).unwrap_or_default();
            let title = colour.paint("1;36", &format!("note[{}]", note.code));
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{title}: {}\n  --> {}{line}\n",
                note.message, file.path
            );
        }
        for finding in &file.report.findings {
            frame(&mut out, file.path, &lines, finding, colour);
        }
        out
    }
}

/// [`Text`] of all files at once. Empty if there is nothing to report.
pub fn text(files: &[FileReport<'_>], colour: Colour) -> String {
    whole(&Text(colour), files)
}

fn frame(out: &mut String, path: &str, lines: &LineIndex<'_>, finding: &Finding, colour: Colour) {
    let (word, code) = match finding.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
        Severity::Advice => ("advice", "1;34"),
        Severity::Info => ("info", "1;36"),
    };
    let title = colour.paint(code, &format!("{word}[{} {}]", finding.id, finding.rule));
    let (start, end) = (finding.span.start, finding.span.end);
    let last = end.line.min(start.line + MAX_LINES - 1);
    let width = last.to_string().len();
    let bar = colour.paint("34", "|");
    let _ = writeln!(out, "{title}: {}", finding.message);
    let _ = writeln!(
        out,
        "{:width$}--> {path}:{}:{}",
        " ", start.line, start.column
    );
    let _ = writeln!(out, "{:width$} {bar}", "");
    for number in start.line..=last {
        let text = lines.text(number);
        let from = if number == start.line {
            start.column as usize - 1
        } else {
            0
        };
        let is_long = text.chars().nth(MAX_COLUMNS).is_some();
        let hidden = if is_long {
            from.saturating_sub(COLUMNS_BEFORE)
        } else {
            0
        };
        // A tab is one column here as in the position; more columns would misplace the marks. Control characters are
        // replaced.
        let mut characters = text.chars().skip(hidden).map(shown);
        let line: String = characters.by_ref().take(MAX_COLUMNS).collect();
        let cut = |is_cut| if is_cut { "…" } else { "" };
        let before = cut(hidden > 0);
        let after = cut(characters.next().is_some());
        let _ = writeln!(
            out,
            "{} {bar} {before}{line}{after}",
            colour.paint("34", &format!("{number:width$}"))
        );
        let to = if number == end.line {
            (end.column as usize - 1).saturating_sub(hidden)
        } else {
            usize::MAX
        };
        let blank = line.chars().take_while(|c| c.is_whitespace()).count();
        let from = (from - hidden).max(blank);
        let skipped: usize = before
            .chars()
            .chain(line.chars().take(from))
            .map(cells)
            .sum();
        let marked: usize = line
            .chars()
            .skip(from)
            .take(to.saturating_sub(from))
            .map(cells)
            .sum();
        let marks = colour.paint(code, &"^".repeat(marked.max(1)));
        let _ = writeln!(out, "{:width$} {bar} {:skipped$}{marks}", "", "");
    }
    if last < end.line {
        let _ = writeln!(out, "{:width$} {bar} …", "");
    }
    if let Some(fix) = &finding.fix {
        let how = match fix.applicability {
            Applicability::Safe => " (safe)",
            Applicability::Unsafe => " (unsafe: review it)",
            Applicability::DisplayOnly => "",
        };
        let _ = writeln!(out, "{:width$} = help: {}{how}", "", fix.title);
    }
    out.push('\n');
}

fn shown(character: char) -> char {
    match character {
        '\t' => ' ',
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

/// The width of a character in terminal cells: two for wide scripts and emoji.
fn cells(character: char) -> usize {
    match u32::from(character) {
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}
