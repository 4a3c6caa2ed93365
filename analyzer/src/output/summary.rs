//! A project's summary, for a terminal and as Markdown.

use std::fmt::Write;

use hipward_analyzer_core::{EffortItem, FamilyCount, Summary};

/// For a terminal, above the line with the number of findings. Empty if there are none.
pub fn summary_text(summary: &Summary) -> String {
    if summary.files_with_findings == 0 {
        return String::new();
    }
    let mut out = String::new();
    // Writing to a string does not fail.
    let width = summary
        .families
        .iter()
        .map(|family| family.family.len())
        .max()
        .unwrap_or_default();
    for family in &summary.families {
        let _ = writeln!(
            out,
            "{:width$}  {}",
            family.family,
            counts(family).join(", ")
        );
    }
    let _ = writeln!(out, "\n{}\n{}", totals(summary), handled(summary));
    for file in &summary.ported {
        let _ = writeln!(
            out,
            "  {}: {}, not counted; {} is its port",
            file.path,
            number(file.findings, "finding"),
            file.port
        );
    }
    let effort = &summary.effort;
    if effort.items.is_empty() {
        out.push('\n');
        return out;
    }
    let _ = writeln!(out, "\nPorting effort: {}", range(effort.minutes));
    for item in &effort.items {
        let _ = writeln!(out, "  {}: {}", item.kind, estimated(item));
    }
    let _ = writeln!(out, "{}\n", effort.note);
    out
}

/// As Markdown, with headings of the second level. Empty if there are no findings.
pub fn summary_markdown(summary: &Summary) -> String {
    if summary.files_with_findings == 0 {
        return String::new();
    }
    let mut out = String::from(
        "## Project\n\n| Family | Errors | Warnings | Advice | Information |\n|---|---:|---:|---:|---:|\n",
    );
    for family in &summary.families {
        let FamilyCount {
            family,
            error,
            warning,
            advice,
            info,
        } = family;
        let _ = writeln!(
            out,
            "| {family} | {error} | {warning} | {advice} | {info} |"
        );
    }
    let _ = writeln!(out, "\n{}\n\n{}", totals(summary), handled(summary));
    if !summary.ported.is_empty() {
        out.push_str(
            "\n| File with a port beside it, not counted | Port | Findings |\n|---|---|---:|\n",
        );
        for file in &summary.ported {
            let _ = writeln!(
                out,
                "| `{}` | `{}` | {} |",
                file.path, file.port, file.findings
            );
        }
    }
    let effort = &summary.effort;
    if effort.items.is_empty() {
        return out;
    }
    let _ = writeln!(out, "\n## Porting effort: {}\n", range(effort.minutes));
    out.push_str("| Work | Findings | Minutes each | Minutes |\n|---|---:|---:|---:|\n");
    for item in &effort.items {
        let (least, most) = item.minutes_each;
        let (from, to) = item.minutes;
        let findings = if item.findings == 0 {
            "–".to_owned()
        } else {
            item.findings.to_string()
        };
        let _ = writeln!(
            out,
            "| {} | {findings} | {least}–{most} | {from}–{to} |",
            item.kind
        );
    }
    let _ = writeln!(out, "\n{}", effort.note);
    out
}

/// What breaks, apart from advice.
fn totals(summary: &Summary) -> String {
    let sum = |what: fn(&FamilyCount) -> usize| summary.families.iter().map(what).sum();
    format!(
        "Breaks: {}, {}. Performance advice: {}. Information: {}.",
        number(sum(|family| family.error), "error"),
        number(sum(|family| family.warning), "warning"),
        sum(|family| family.advice),
        sum(|family| family.info),
    )
}

fn handled(summary: &Summary) -> String {
    format!(
        "For a person: {}. Done by PyTorch's hipify: {}. Done by the ROCm wheel: {}.",
        summary.by_you, summary.by_hipify, summary.by_rocm_wheel
    )
}

fn counts(family: &FamilyCount) -> Vec<String> {
    [
        (family.error, "error"),
        (family.warning, "warning"),
        (family.advice, "advice"),
        (family.info, "info"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| match word {
        "advice" | "info" => format!("{count} {word}"),
        _ => number(count, word),
    })
    .collect()
}

fn estimated(item: &EffortItem) -> String {
    let (least, most) = item.minutes_each;
    match item.findings {
        0 => format!("{least}–{most} min"),
        count => format!(
            "{count} × {least}–{most} min = {}–{} min",
            item.minutes.0, item.minutes.1
        ),
    }
}

/// Hours, if minutes would suggest too much precision.
pub(super) fn range((least, most): (u32, u32)) -> String {
    if most < 120 {
        return format!("{least}–{most} minutes");
    }
    let hours = |minutes: u32| minutes.div_ceil(30);
    let half = |halves: u32| match halves % 2 {
        0 => (halves / 2).to_string(),
        _ => format!("{}.5", halves / 2),
    };
    format!("{}–{} hours", half(hours(least)), half(hours(most)))
}

pub(super) fn number(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
