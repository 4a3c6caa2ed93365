//! A job in a terminal: the same words as on its page, in columns.

use super::conditions::conditions;
use super::roofline::cautions;
use super::status::{sentence, state_word};
use super::table::{Cells, cells};
use hipward_protocol::{JobView, VariantView};

const HEADINGS: [&str; 5] = [
    "Variant",
    "Median, ms (95 %)",
    "Speed-up (95 %)",
    "Verdict",
    "Sampling",
];

/// The state of a job as a sentence.
pub fn benchmark_sentence(view: &JobView) -> String {
    line(&sentence(view))
}

/// One variant, in a line.
pub fn benchmark_line(view: &JobView, row: &VariantView) -> String {
    let Cells {
        variant,
        median,
        status,
        ..
    } = cells(view, row);
    line(&match row.stats {
        Some(_) => format!("{variant}: {median} ms; {status}"),
        None => format!("{variant}: {status}"),
    })
}

/// The variants in columns; empty before the first.
pub fn benchmark_table(view: &JobView) -> String {
    if view.variants.is_empty() {
        return String::new();
    }
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(view.variants.iter().map(|row| {
        let cells = cells(view, row);
        [
            cells.variant.to_owned(),
            cells.median,
            cells.speedup,
            cells.verdict.to_owned(),
            cells.status,
        ]
        .map(|cell| line(&cell))
    }));
    let mut widths = [0; HEADINGS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    // Nothing follows the last column.
    widths[HEADINGS.len() - 1] = 0;
    let columns = |row: &[String; HEADINGS.len()]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(columns).collect()
}

/// A job that has ended: verdict, table, precision and conditions.
pub fn benchmark_text(view: &JobView) -> String {
    let mut text = format!("{}. {}\n", state_word(view.state), sentence(view));
    if let Some(failure) = &view.failure {
        text.push_str(&format!("{}\n", failure.help));
        if let Some(traceback) = &failure.traceback {
            text.push_str(&format!("\n{}\n", traceback.trim_end()));
        }
    }
    let table = benchmark_table(view);
    if !table.is_empty() {
        text.push_str(&format!("\n{table}\nPrecision\n"));
        for row in &view.variants {
            let cells = cells(view, row);
            text.push_str(&format!("  {}: {}\n", cells.variant, cells.precision));
        }
    }
    let cautions = cautions(view);
    if !cautions.is_empty() {
        text.push_str("\nBefore believing this\n");
        for caution in cautions {
            text.push_str(&format!("  {caution}\n"));
        }
    }
    let conditions = conditions(view);
    if !conditions.is_empty() {
        text.push_str("\nConditions\n");
        for (name, value) in conditions {
            text.push_str(&format!("  {name}: {}\n", line(&value)));
        }
    }
    text.replace(|c: char| c != '\n' && steers(c), "")
}

/// Text from outside on one line, without what steers a terminal.
fn line(text: &str) -> String {
    let spaced = text.replace(['\n', '\r', '\t'], " ");
    spaced.replace(steers, "")
}

/// Control characters, which make a terminal write its clipboard or hide what it shows, and marks that
/// reverse the order of what follows.
pub(super) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::{Failure, FailureCode, JobState, Variant, VariantId, VariantStatus};

    /// Writes the reader's clipboard.
    const HOSTILE: &str = "\u{1b}]52;c;aGk=\u{7}bad\u{9b}2J\u{202e}\rtext";

    #[test]
    fn control_characters_of_a_snippet_do_not_reach_the_terminal() {
        let mut view = JobView {
            state: JobState::Failed,
            failure: Some(Failure {
                code: FailureCode::ForwardError,
                message: HOSTILE.to_owned(),
                help: HOSTILE.to_owned(),
                traceback: Some(format!("line 1\nline 2 {HOSTILE}")),
            }),
            all_variants: vec![Variant {
                id: VariantId::EAGER,
                label: HOSTILE.to_owned(),
                about: String::new(),
            }],
            warnings: vec![HOSTILE.to_owned()],
            ..JobView::default()
        };
        view.variants = vec![VariantView {
            variant: VariantId::EAGER,
            status: VariantStatus::Rejected(HOSTILE.to_owned()),
            precision: None,
            compile_seconds: None,
            based_on: Vec::new(),
            includes: Vec::new(),
            samples: Vec::new(),
            stats: None,
            hot: None,
        }];
        let whole = benchmark_text(&view);
        assert!(whole.contains("line 1\nline 2"), "{whole:?}");
        for text in [
            whole,
            benchmark_table(&view),
            benchmark_sentence(&view),
            benchmark_line(&view, &view.variants[0]),
        ] {
            assert!(
                text.contains("bad2Jtext") || text.contains("bad2J text"),
                "{text:?}"
            );
            assert!(!text.contains(|c| c != '\n' && steers(c)), "{text:?}");
        }
    }
}
