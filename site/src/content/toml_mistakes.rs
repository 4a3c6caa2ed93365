//! Reads TOML, or reports every mistake in it, with the line to write where the key is known.

use serde::de::DeserializeOwned;
use toml::de::{DeTable, Error};

/// A line for each key of the front matter and of `part.toml`, and for the keys that blocks require.
const EXAMPLES: [&str; 17] = [
    "title = \"Count the bytes\"",
    "summary = \"One sentence about the page.\"",
    "minutes = 10",
    "goal = \"What readers can do after the page.\"",
    "teaches = \"The one idea of the page.\"",
    "paths = [\"newcomer\", \"team\"]",
    "prerequisites = [\"port/device-abstraction\"]",
    "checked = [\"PyTorch 2.15.0 (CPU)\"]",
    "checked_on = \"2026-11-25\"",
    "keywords = [\"rocprof\"]",
    "kind = \"how-to\"",
    "question = \"Which line fails?\"",
    "task = \"Make the job run on both vendors.\"",
    "file = \"job.py\"",
    "conclusion = \"What the figure shows, for readers who cannot see it.\"",
    "caption = \"One sentence below the figure.\"",
    "why = \"The reason for the answer.\"",
];

/// A mistake in a TOML text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TomlMistake {
    /// Its line, from 0.
    pub(super) line: usize,
    /// What is wrong, and what to write instead.
    pub(super) message: String,
}

/// Reads a text, or returns its mistakes by line.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Vec<TomlMistake>> {
    toml::from_str(text).map_err(|_| {
        let mut mistakes = mistakes_in::<T>(text);
        mistakes.sort_by_key(|mistake| mistake.line);
        mistakes
    })
}

/// The parser stops at the first wrong value, so each mistake is repaired in a copy, which is read again.
fn mistakes_in<T: DeserializeOwned>(text: &str) -> Vec<TomlMistake> {
    let mut copy = Copy::new(text);
    let text = copy.text();
    let (_, mut errors) = DeTable::parse_recoverable(&text);
    if errors.is_empty() {
        errors.extend(toml::from_str::<T>(&text).err());
    }
    let mut mistakes = Vec::new();
    loop {
        let text = copy.text();
        let row = |error: &Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            before.map_or(0, |before| before.matches('\n').count())
        };
        errors.dedup_by_key(|error| row(error));
        // From the end, so that a repair moves no row of another error.
        for error in errors.iter().rev() {
            let row = row(error);
            let mistake = TomlMistake {
                line: copy.number(row),
                message: message(&text, error),
            };
            // The repair before was none: its example belongs to another table.
            let is_example = copy.is_added(row) && missing_key(error).is_none();
            if is_example || mistakes.contains(&mistake) {
                return mistakes;
            }
            mistakes.push(mistake);
            if !copy.repair(row, &text, error) {
                return mistakes;
            }
        }
        let text = copy.text();
        match toml::from_str::<T>(&text) {
            // Text that is no TOML any more is the rest of a value of several lines, which is no mistake of its own.
            Err(error) if text.parse::<toml::Table>().is_ok() => errors = vec![error],
            _ => return mistakes,
        }
    }
}

/// A copy of a text in which mistakes are repaired.
struct Copy {
    lines: Vec<Line>,
}

struct Line {
    /// Its number in the text, from 0; `None` for a line that was added.
    number: Option<usize>,
    text: String,
}

impl Copy {
    fn new(text: &str) -> Self {
        let lines = text.lines().enumerate().map(|(number, text)| Line {
            number: Some(number),
            text: text.to_owned(),
        });
        Copy {
            lines: lines.collect(),
        }
    }

    fn text(&self) -> String {
        self.lines
            .iter()
            .flat_map(|line| [&line.text, "\n"])
            .collect()
    }

    /// The number in the text of a row; for a row that was added, and for the end, that of the nearest row.
    fn number(&self, row: usize) -> usize {
        let (above, below) = self.lines.split_at(row.min(self.lines.len()));
        let nearest = below.iter().chain(above.iter().rev());
        nearest.filter_map(|line| line.number).next().unwrap_or(0)
    }

    fn is_added(&self, row: usize) -> bool {
        self.lines
            .get(row)
            .is_some_and(|line| line.number.is_none())
    }

    /// Adds the missing key, or replaces the row by the example of its key or by nothing. `false` if neither is possible.
    fn repair(&mut self, row: usize, text: &str, error: &Error) -> bool {
        if let Some(key) = missing_key(error) {
            let Some(example) = example_of(key) else {
                return false;
            };
            // The span is the header of a table, or all of the text.
            let table = error.span().filter(|span| span.end < text.len());
            let is_header = table.is_some_and(|span| text[span.start..].starts_with('['));
            let added = Line {
                number: None,
                text: example.to_owned(),
            };
            self.lines.insert(row + usize::from(is_header), added);
            return true;
        }
        let Some(line) = self.lines.get_mut(row) else {
            return false;
        };
        let example = key_of(&line.text).and_then(example_of).unwrap_or_default();
        // The example was no repair.
        let repaired = if line.text == example { "" } else { example };
        let is_changed = line.text != repaired;
        repaired.clone_into(&mut line.text);
        is_changed
    }
}

/// The parser's message, and what to write instead.
fn message(text: &str, error: &Error) -> String {
    let key = missing_key(error).or_else(|| key_at(text, error.span()?.start));
    let message = error.message();
    match key.and_then(example_of) {
        Some(line) => format!("{message}; write a line such as `{line}`"),
        None => message.to_owned(),
    }
}

fn missing_key(error: &Error) -> Option<&str> {
    error
        .message()
        .strip_prefix("missing field `")?
        .strip_suffix('`')
}

fn example_of(key: &str) -> Option<&'static str> {
    EXAMPLES.into_iter().find(|line| key_of(line) == Some(key))
}

/// The key on the line of a position.
fn key_at(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    key_of(text.get(start..)?.lines().next()?)
}

fn key_of(line: &str) -> Option<&str> {
    Some(line.split_once('=')?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Front {
        #[serde(rename = "title")]
        _title: Option<String>,
        #[serde(rename = "minutes")]
        _minutes: u32,
        #[serde(rename = "goal")]
        _goal: String,
        #[serde(rename = "keywords", default)]
        _keywords: Vec<String>,
        #[serde(rename = "option", default)]
        _options: Vec<Choice>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Choice {
        #[serde(rename = "why")]
        _why: String,
    }

    fn mistakes(text: &str) -> Vec<String> {
        let mistakes = read::<Front>(text).expect_err("a mistake");
        let lines = mistakes.into_iter();
        lines
            .map(|at| format!("{}: {}", at.line, at.message))
            .collect()
    }

    #[test]
    fn wrong_value_is_reported_with_the_line_to_write() {
        for end in ["\n", "\r\n", "\n\n"] {
            let text = ["goal = \"G\"", "minutes = \"ten\"", "keywords = []"].join(end);
            let line = if end == "\n\n" { 2 } else { 1 };
            let message =
                "invalid type: string \"ten\", expected u32; write a line such as `minutes = 10`";
            assert_eq!(mistakes(&text), [format!("{line}: {message}")]);
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let text = "minutes = \"ten\"\ncolour = 1\nkeywords = [\n  1,\n]\n[[option]]\n[[option]]\nwhy = 2\n";
        let goal = "`goal = \"What readers can do after the page.\"`";
        let why = "`why = \"The reason for the answer.\"`";
        assert_eq!(
            mistakes(text),
            [
                "0: invalid type: string \"ten\", expected u32; write a line such as `minutes = 10`",
                &format!("0: missing field `goal`; write a line such as {goal}"),
                "1: unknown field `colour`, expected one of `title`, `minutes`, `goal`, `keywords`, `option`",
                "3: invalid type: integer `1`, expected a string",
                &format!("5: missing field `why`; write a line such as {why}"),
                &format!(
                    "7: invalid type: integer `2`, expected a string; write a line such as {why}"
                ),
            ]
        );
    }

    #[test]
    fn syntax_errors_are_reported_with_the_others() {
        let unquoted =
            "string values must be quoted, expected literal string; write a line such as";
        assert_eq!(
            mistakes("title = Count the bytes\ngoal = Learn\nminutes = \"ten\"\n"),
            [
                &format!("0: {unquoted} `title = \"Count the bytes\"`"),
                &format!("1: {unquoted} `goal = \"What readers can do after the page.\"`"),
                "2: invalid type: string \"ten\", expected u32; write a line such as `minutes = 10`",
            ]
        );
    }

    #[test]
    fn rest_of_a_wrong_value_is_no_mistake() {
        assert_eq!(mistakes("goal = [\n  \"G\",\n]\nminutes = 10\n").len(), 1);
    }

    #[test]
    fn text_that_ends_early_and_empty_text_are_reported() {
        let unfinished = mistakes("minutes = 10\ngoal = \"\"\"G\n");
        assert!(unfinished[0].starts_with("1: "), "{unfinished:?}");
        assert_eq!(unfinished.len(), 1);
        let empty = mistakes("");
        assert!(
            empty[0].starts_with("0: missing field `minutes`"),
            "{empty:?}"
        );
        assert!(empty[1].starts_with("0: missing field `goal`"), "{empty:?}");
        assert_eq!(empty.len(), 2);
    }

    #[test]
    fn every_example_is_valid() {
        for line in EXAMPLES {
            assert!(line.parse::<toml::Table>().is_ok(), "{line}");
        }
    }
}
