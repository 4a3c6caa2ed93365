//! Workflow commands that GitHub shows as annotations on the lines of a change: `::warning file=…,line=…::message`.

use super::{FileReport, Format};
use hipward_analyzer_core::Severity;

/// One line for each finding.
#[derive(Clone, Copy, Debug)]
pub struct GitHub;

impl Format for GitHub {
    fn file(&self, file: &FileReport<'_>) -> String {
        let mut out = String::new();
        for finding in &file.report.findings {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Advice | Severity::Info => "notice",
            };
            let (start, end) = (finding.span.start, finding.span.end);
            // Columns are for a span within one line only.
            let columns = if start.line == end.line {
                format!(",col={},endColumn={}", start.column, end.column)
            } else {
                String::new()
            };
            out.push_str(&format!(
                "::{level} file={},line={},endLine={}{columns},title={}::{}\n",
                property(file.path),
                start.line,
                end.line,
                property(&format!("{} ({})", finding.rule, finding.id)),
                data(&finding.message),
            ));
        }
        out
    }
}

/// Escapes a message: a line break would end the command.
pub fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property: a comma would begin the next one.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
