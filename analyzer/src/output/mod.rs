//! Reports as text for people and programs. Pure: reports in, strings out, one file after the other.

mod github;
mod json;
mod markdown;
mod sarif;
mod statistics;
mod summary;
mod text;

use hipward_analyzer_core::Report;

pub use github::GitHub;
pub use json::REPORT_SCHEMA;
pub use json::{Json, json};
pub use markdown::Markdown;
pub use sarif::{Sarif, sarif};
pub use statistics::Statistics;
pub use summary::{summary_markdown, summary_text};
pub use text::{Colour, Text, text};

/// A file and what was found in it.
#[derive(Clone, Copy, Debug)]
pub struct FileReport<'a> {
    /// Its path as it is shown, `/`-separated.
    pub path: &'a str,
    /// Its text, for the lines that are quoted.
    pub source: &'a str,
    /// What was found.
    pub report: &'a Report,
}

/// A way to write reports down, a file at a time: what was written of one does not depend on the others, so that
/// nobody has to keep them all.
pub trait Format: Send + Sync {
    /// What comes before the first file.
    fn begin(&self) -> String {
        String::new()
    }

    /// A file's part; empty when there is nothing to say of it.
    fn file(&self, file: &FileReport<'_>) -> String;

    /// What comes between two parts that are not empty.
    fn separator(&self) -> &'static str {
        ""
    }

    /// What comes after the last file.
    fn end(&self, _statistics: &Statistics) -> String {
        String::new()
    }
}

/// All of it at once.
fn whole(format: &dyn Format, files: &[FileReport<'_>]) -> String {
    let mut statistics = Statistics::default();
    let mut out = format.begin();
    let mut separator = "";
    for file in files {
        statistics.add(file.report);
        let part = format.file(file);
        if !part.is_empty() {
            out.push_str(separator);
            out.push_str(&part);
            separator = format.separator();
        }
    }
    out.push_str(&format.end(&statistics));
    out
}

/// The lines of a JSON value, moved to the right.
fn indented(json: &str, by: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for (index, line) in json.lines().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(by);
        out.push_str(line);
    }
    out
}
