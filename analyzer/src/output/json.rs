//! JSON: an array of files, each with its report.

use serde::Serialize;

use super::FileReport;
use crate::report::Report;

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    #[serde(flatten)]
    report: &'a Report,
}

/// `[{"path": …, "schema": 1, "findings": […], …}]`
pub fn json(files: &[FileReport<'_>]) -> String {
    let files: Vec<_> = files
        .iter()
        .map(|file| File {
            path: file.path,
            report: file.report,
        })
        .collect();
    // Strings, numbers and lists always have a JSON form.
    let mut text = serde_json::to_string_pretty(&files).unwrap_or_default();
    text.push('\n');
    text
}
