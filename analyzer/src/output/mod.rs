//! Output formats for people and programs. Pure: reports in, strings out, one file after the other.

pub mod github;
mod json;
mod markdown;
mod plan;
mod sarif;
mod statistics;
mod summary;
mod text;

use hipward_analyzer_core::Report;

pub use github::GitHub;
pub use json::REPORT_SCHEMA;
pub use json::{Json, json};
pub use markdown::Markdown;
pub use plan::{plan_markdown, plan_text};
pub use sarif::{Sarif, sarif};
pub use statistics::Statistics;
pub use summary::{summary_markdown, summary_text};
pub use text::{Colour, Text, text};

/// A file and its report.
#[derive(Clone, Copy, Debug)]
pub struct FileReport<'a> {
    /// The displayed path, with `/` as the separator.
    pub path: &'a str,
    /// The text, from which lines are quoted.
    pub source: &'a str,
    /// The report.
    pub report: &'a Report,
}

/// An output format, written file by file: the output for a file does not depend on the others, so that they need not
/// be stored.
pub trait Format: Send + Sync {
    /// The text before the first file.
    fn begin(&self) -> String {
        String::new()
    }

    /// The text for a file; empty if there is nothing to report.
    fn file(&self, file: &FileReport<'_>) -> String;

    /// The separator between two non-empty parts.
    fn separator(&self) -> &'static str {
        ""
    }

    /// The text after the last file.
    fn end(&self, _statistics: &Statistics) -> String {
        String::new()
    }
}

/// The whole output at once.
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

/// Indents the lines of a JSON value.
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
