//! Results of two or more jobs side by side: how the times of a variant differ, and which conditions do.

use super::conditions::conditions;
use crate::format::number;
use hipward_protocol::{JobView, Outcome, Stats, VariantId};
use std::fmt::Write as _;

/// Conditions whose difference forbids a conclusion about the code.
const DECISIVE: [&str; 2] = ["Device", "PyTorch"];

/// The result of a job compared with that of an earlier one.
#[derive(Clone, Debug)]
pub struct JobComparison {
    rows: Vec<Row>,
    /// Conditions that are not the same: name, before, now.
    differing: Vec<[String; 3]>,
    /// Whether device and PyTorch are the same.
    pub is_same_host: bool,
    /// The factor up to which a ratio is no evidence.
    noise: f64,
}

/// A variant that both jobs measured.
#[derive(Clone, Debug)]
struct Row {
    /// Whether it is eager timed again, which shows the noise and is no variant of its own.
    is_control: bool,
    label: String,
    before: String,
    now: String,
    /// How many times as fast, with the ends of the interval.
    ratio: [f64; 3],
}

impl JobComparison {
    /// Compares `now` with the earlier result `before`.
    pub fn new(before: &JobView, now: &JobView) -> Self {
        let views = [before, now];
        let rows = measured_variants(&views)
            .into_iter()
            .filter_map(|(id, label)| {
                let (earlier, later) = (stats(before, &id)?, stats(now, &id)?);
                Some(Row {
                    is_control: id == VariantId::CONTROL,
                    label,
                    before: time(earlier),
                    now: time(later),
                    ratio: ratio(earlier, later),
                })
            })
            .collect();
        let differing = differing(&views);
        JobComparison {
            rows,
            is_same_host: !has_decisive(&differing),
            noise: noise(&views),
            differing: differing
                .into_iter()
                .filter_map(|(name, values)| {
                    let [before, now] = <[String; 2]>::try_from(values).ok()?;
                    Some([name, before, now])
                })
                .collect(),
        }
    }

    /// The variants that are slower than before, beyond the intervals of both results.
    pub fn slower(&self) -> impl Iterator<Item = &str> {
        let is_slower =
            |row: &&Row| !row.is_control && evidence(row.ratio, self.noise) == Evidence::Slower;
        self.rows
            .iter()
            .filter(is_slower)
            .map(|row| row.label.as_str())
    }

    /// The comparison with the result of this name, for a terminal.
    pub fn text(&self, name: &str) -> String {
        let mut out = format!("\nCompared with {name}:\n");
        if self.rows.is_empty() {
            out.push_str("  No variant was measured in both.\n");
        }
        let width = |text: fn(&Row) -> &str| {
            let widths = self.rows.iter().map(|row| text(row).chars().count());
            widths.max().unwrap_or_default()
        };
        let (label, before, now) = (
            width(|row| &row.label),
            width(|row| &row.before),
            width(|row| &row.now),
        );
        // Writing to a String does not fail.
        for row in &self.rows {
            let _ = writeln!(
                out,
                "  {:label$}  {:before$} → {:now$} ms  {}  {}",
                row.label,
                row.before,
                row.now,
                ratio_text(row.ratio),
                word(row.ratio, self.noise)
            );
        }
        for [name, before, now] in &self.differing {
            let _ = writeln!(out, "  {name} differs: {before} → {now}");
        }
        if !self.is_same_host {
            let _ = writeln!(out, "  {OTHER_HOST}");
        }
        if self.noise > 1.0 {
            let _ = writeln!(out, "  {NOISY}");
        }
        out
    }

    /// The comparison with the result of this name, for `benchmark.md`.
    pub fn markdown(&self, name: &str) -> String {
        let mut out = format!("\n## Compared with {}\n\n", cell(name));
        if !self.is_same_host {
            let _ = writeln!(out, "> {OTHER_HOST}\n");
        }
        if self.noise > 1.0 {
            let _ = writeln!(out, "> {NOISY}\n");
        }
        out.push_str("| Variant | Before, ms (95 %) | Now, ms (95 %) | Times as fast | |\n|---|---:|---:|---:|---|\n");
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                cell(&row.label),
                row.before,
                row.now,
                ratio_text(row.ratio),
                word(row.ratio, self.noise)
            );
        }
        if !self.differing.is_empty() {
            out.push_str("\n| Condition | Before | Now |\n|---|---|---|\n");
        }
        for [name, before, now] in &self.differing {
            let _ = writeln!(out, "| {} | {} | {} |", cell(name), cell(before), cell(now));
        }
        out
    }
}

/// The caution for jobs with different devices or versions of PyTorch.
pub(crate) const OTHER_HOST: &str = "The jobs ran on different devices or versions of PyTorch. A ratio between them is not only the effect of the code.";

/// The caution for jobs whose control differs from eager.
pub(crate) const NOISY: &str = "In at least one of the jobs the host was busy, or eager differs from itself. Only a larger difference is conclusive.";

/// A cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A median with its interval, milliseconds.
pub(crate) fn time(stats: &Stats) -> String {
    format!(
        "{} [{}, {}]",
        number(stats.median),
        number(stats.ci_low),
        number(stats.ci_high)
    )
}

/// A ratio with the ends of its interval.
pub(crate) fn ratio_text([ratio, low, high]: [f64; 3]) -> String {
    let [ratio, low, high] = [ratio, low, high].map(number);
    format!("{ratio}× [{low}, {high}]")
}

/// What a ratio shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    Faster,
    Slower,
    None,
}

/// What a ratio with the ends of its interval shows, if a factor of up to `noise` is no evidence.
pub(crate) fn evidence([_, low, high]: [f64; 3], noise: f64) -> Evidence {
    if low > noise {
        Evidence::Faster
    } else if high < noise.recip() {
        Evidence::Slower
    } else {
        Evidence::None
    }
}

fn word(ratio: [f64; 3], noise: f64) -> &'static str {
    match evidence(ratio, noise) {
        Evidence::Faster => "faster",
        Evidence::Slower => "slower",
        Evidence::None => "cannot be told apart",
    }
}

/// The factor up to which a ratio between these jobs is no evidence: 1 if eager agrees with its control in all of them, and
/// infinity if a job's control has no conclusive time.
pub(crate) fn noise(views: &[&JobView]) -> f64 {
    let controls = views
        .iter()
        .filter_map(|view| view.verdict.as_ref()?.control.as_ref())
        .filter(|control| control.outcome != Outcome::Same);
    controls
        .map(|control| {
            let is_certain = control.ci_low > 1.0 || control.ci_high < 1.0;
            match is_certain || control.reason.is_some() {
                true => f64::INFINITY,
                false => control.ci_high.max(control.ci_low.recip()).max(1.0),
            }
        })
        .product()
}

/// Every variant that one of the jobs measured with its label, in the order of the ladder of the first job that has it.
pub(crate) fn measured_variants(views: &[&JobView]) -> Vec<(VariantId, String)> {
    let mut found: Vec<(VariantId, String)> = Vec::new();
    for view in views {
        for row in &view.variants {
            if row.stats.is_some() && !found.iter().any(|(id, _)| *id == row.variant) {
                let label = view.label(&row.variant).to_owned();
                found.push((row.variant.clone(), label));
            }
        }
    }
    found
}

/// The statistics of a variant, if it was measured.
pub(crate) fn stats<'a>(view: &'a JobView, variant: &VariantId) -> Option<&'a Stats> {
    let row = view.variants.iter().find(|row| row.variant == *variant)?;
    row.stats.as_ref()
}

/// How many times as fast `stats` is as `reference`, with the ends of the interval. Both medians lie in their 95 %
/// intervals, so the ratio lies between the quotients of opposite ends.
pub(crate) fn ratio(reference: &Stats, stats: &Stats) -> [f64; 3] {
    [
        reference.median / stats.median,
        reference.ci_low / stats.ci_high,
        reference.ci_high / stats.ci_low,
    ]
}

/// The conditions that are not the same in all jobs: name, and the value of each job.
pub(crate) fn differing(views: &[&JobView]) -> Vec<(String, Vec<String>)> {
    let all: Vec<Vec<(&str, String)>> = views.iter().map(|view| conditions(view)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
        .into_iter()
        .filter_map(|name| {
            let values: Vec<String> = all
                .iter()
                .map(|conditions| {
                    let values = conditions.iter().filter(|(other, _)| *other == name);
                    values
                        .map(|(_, value)| value.as_str())
                        .collect::<Vec<_>>()
                        .join("; ")
                })
                .collect();
            let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
            differ.then(|| (name.to_owned(), values))
        })
        .collect()
}

/// Whether one of these conditions forbids a conclusion about the code.
pub(crate) fn has_decisive(differing: &[(String, Vec<String>)]) -> bool {
    differing
        .iter()
        .any(|(name, _)| DECISIVE.contains(&name.as_str()))
}
