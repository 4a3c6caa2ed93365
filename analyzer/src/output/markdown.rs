//! Markdown for a pull request or a wiki: a table for each file, and a summary at the end.

use super::{FileReport, Format, Statistics};
use hipward_analyzer_core::{Applicability, Finding};

/// A section for each file with findings or notes.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Format for Markdown {
    fn begin(&self) -> String {
        "# Hipward report\n".to_owned()
    }

    fn file(&self, file: &FileReport<'_>) -> String {
        let report = file.report;
        if report.findings.is_empty() && report.notes.is_empty() {
            return String::new();
        }
        let mut out = format!("\n## {}\n\n", name(file.path));
        for note in &report.notes {
            out.push_str(&format!("> {}\n\n", escape(&note.message)));
        }
        if !report.findings.is_empty() {
            out.push_str("| Line | Severity | Rule | Finding | Fix |\n");
            out.push_str("|---:|---|---|---|---|\n");
        }
        for finding in &report.findings {
            out.push_str(&format!(
                "| {} | {} | {} | {} | {} |\n",
                finding.span.start.line,
                finding.severity.name(),
                rule(finding),
                escape(&finding.message),
                fix(finding),
            ));
        }
        out
    }

    fn end(&self, statistics: &Statistics) -> String {
        let mut out = String::from("\n## Summary\n\n");
        if !statistics.is_empty() {
            out.push_str("| Findings | Rule | Family |\n|---:|---|---|\n");
            for count in statistics.by_rule() {
                out.push_str(&format!(
                    "| {} | {} ({}) | {} |\n",
                    count.findings, count.name, count.id, count.family
                ));
            }
            out.push('\n');
        }
        out.push_str(&statistics.summary());
        out
    }
}

fn rule(finding: &Finding) -> String {
    let name = format!("{} ({})", finding.rule, finding.id);
    match &finding.link {
        Some(link) => format!("[{name}](<{link}>)"),
        None => name,
    }
}

fn fix(finding: &Finding) -> String {
    let Some(fix) = &finding.fix else {
        return String::new();
    };
    let how = match fix.applicability {
        Applicability::Safe => " (safe)",
        Applicability::Unsafe => " (unsafe)",
        Applicability::DisplayOnly => "",
    };
    format!("{}{how}", escape(&fix.title))
}

/// A file name, in which a backtick is an ordinary character.
fn name(path: &str) -> String {
    let parts: Vec<String> = path.split('`').map(escape).collect();
    parts.join("\\`")
}

/// A text for a table cell, escaped for Markdown except for its backticks.
fn escape(text: &str) -> String {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mut is_code = false;
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '`' if is_paired => is_code = !is_code,
            // A table is split at its bars first, even within code.
            '|' => out.push('\\'),
            '\\' | '*' | '_' | '<' | '>' | '[' | ']' | '`' | '#' if !is_code => out.push('\\'),
            _ => {}
        }
        match character {
            '\n' | '\r' => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}
