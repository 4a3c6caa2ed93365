//! Reports as text for a terminal, as JSON, and as SARIF. Pure: reports in, a string out.

mod json;
mod sarif;
#[cfg(feature = "all-languages")]
mod summary;
mod text;

use crate::report::Report;

pub use json::json;
pub use sarif::sarif;
#[cfg(feature = "all-languages")]
pub use summary::{summary_markdown, summary_text};
pub use text::{Colour, text};

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
