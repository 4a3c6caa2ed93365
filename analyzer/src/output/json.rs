//! JSON: an array of files, each with its report. It is described by a JSON Schema.

use serde::Serialize;

use super::{FileReport, Format, Statistics, indented, whole};
use hipward_analyzer_core::Report;

/// The JSON Schema (draft 2020-12) of the output of [`Json`].
pub const REPORT_SCHEMA: &str = include_str!("report.schema.json");

/// `[{"path": …, "schema": 1, "findings": […], …}]`
#[derive(Clone, Copy, Debug)]
pub struct Json;

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    #[serde(flatten)]
    report: &'a Report,
}

impl Format for Json {
    fn begin(&self) -> String {
        "[\n".to_owned()
    }

    fn file(&self, file: &FileReport<'_>) -> String {
        let file = File {
            path: file.path,
            report: file.report,
        };
        // Strings, numbers and lists always have a JSON form.
        indented(
            &serde_json::to_string_pretty(&file).unwrap_or_default(),
            "  ",
        )
    }

    fn separator(&self) -> &'static str {
        ",\n"
    }

    fn end(&self, _: &Statistics) -> String {
        "\n]\n".to_owned()
    }
}

/// [`Json`] of all files at once.
pub fn json(files: &[FileReport<'_>]) -> String {
    whole(&Json, files)
}
