//! The message for invalid TOML, with the line to write where the key is known.

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

/// The parser's message, and what to write instead.
pub(super) fn message(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    let key = message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'))
        .or_else(|| key_at(text, error.span()?.start));
    let example = EXAMPLES.iter().find(|line| {
        let (name, _) = line.split_once(" = ").unwrap_or_default();
        Some(name) == key
    });
    match example {
        Some(line) => format!("{message}; write a line such as `{line}`"),
        None => message.to_owned(),
    }
}

/// The key on the line of a position.
fn key_at(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    Some(line.split_once('=')?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Front {
        #[serde(rename = "minutes")]
        _minutes: u32,
        #[serde(rename = "goal")]
        _goal: String,
    }

    fn mistake(text: &str) -> String {
        let error = toml::from_str::<Front>(text).expect_err("an error");
        message(text, &error)
    }

    #[test]
    fn wrong_value_is_reported_with_the_line_to_write() {
        let message = mistake("goal = \"G\"\nminutes = \"ten\"\n");
        assert!(message.contains("\"ten\""), "{message}");
        assert!(
            message.ends_with("; write a line such as `minutes = 10`"),
            "{message}"
        );
    }

    #[test]
    fn missing_key_is_reported_with_the_line_to_write() {
        let message = mistake("minutes = 10\n");
        assert!(
            message.starts_with("missing field `goal`; write a line such as `goal = "),
            "{message}"
        );
    }

    #[test]
    fn every_example_is_valid() {
        for line in EXAMPLES {
            assert!(line.parse::<toml::Table>().is_ok(), "{line}");
        }
    }

    #[test]
    fn other_mistakes_keep_the_message_of_the_parser() {
        assert!(!mistake("minutes = 10\nelse\n").contains("write a line"));
    }
}
