//! A job in a terminal: the same words as on its page, in columns.

use super::conditions::conditions;
use super::floor::cautions;
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

/// Where a job stands, in a sentence.
pub fn benchmark_sentence(view: &JobView) -> String {
    sentence(view)
}

/// One variant, in a line.
pub fn benchmark_line(view: &JobView, row: &VariantView) -> String {
    let Cells {
        variant,
        median,
        status,
        ..
    } = cells(view, row);
    match row.stats {
        Some(_) => format!("{variant}: {median} ms; {status}"),
        None => format!("{variant}: {status}"),
    }
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
    }));
    let mut widths = [0; HEADINGS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    // Nothing follows the last column.
    widths[HEADINGS.len() - 1] = 0;
    let line = |row: &[String; HEADINGS.len()]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
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
    if let Some(environment) = &view.environment {
        text.push_str("\nConditions\n");
        for (name, value) in conditions(environment) {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    text
}
