//! Bars of a comparison: a table, whose bars are as long as their numbers.

use super::{heading, number};
use crate::content::models::{Comparison, Figure, Run};
use leptos::prelude::*;

/// One bar.
struct Bar<'a> {
    label: String,
    figure: &'a Figure,
    value: f64,
}

/// A bar for each run that has the metric. More than a few are sorted, the longest first.
pub(super) fn runs(comparison: &Comparison, metric: &str) -> Option<AnyView> {
    let bar = |run| bar(comparison.label(run), run, metric);
    let mut bars: Vec<Bar<'_>> = comparison.runs.iter().filter_map(bar).collect();
    // Versions and lengths have an order of their own; combinations have not.
    if bars.len() > super::SIDE_BY_SIDE && comparison.common_length().is_some() {
        bars.sort_by(|one, other| other.value.total_cmp(&one.value));
    }
    let title = format!(
        "{} ({})",
        heading(metric, &bars.first()?.figure.unit),
        comparison.setting()
    );
    Some(table(title, &bars))
}

/// A bar for each of the metrics that the first run has.
pub(super) fn metrics(comparison: &Comparison, metrics: &[&str]) -> Option<AnyView> {
    let run = comparison.runs.first()?;
    let bars: Vec<Bar<'_>> = metrics
        .iter()
        .filter_map(|metric| bar(heading(metric, "×"), run, metric))
        .collect();
    let title = format!(
        "{}, {} ({})",
        run.version,
        bars.first()?.figure.unit,
        comparison.setting()
    );
    Some(table(title, &bars))
}

fn bar<'a>(label: String, run: &'a Run, metric: &str) -> Option<Bar<'a>> {
    let figure = run.figure(metric)?;
    let value = figure.value.parse().ok()?;
    Some(Bar {
        label,
        figure,
        value,
    })
}

fn table(title: String, bars: &[Bar<'_>]) -> AnyView {
    let longest = bars
        .iter()
        .map(|bar| bar.value)
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows: Vec<AnyView> = bars
        .iter()
        .map(|bar| {
            let width = format!("width: {:.1}%", 100.0 * bar.value / longest);
            view! {
                <tr>
                    <th scope="row">{bar.label.clone()}</th>
                    <td class="bar"><span style=width></span></td>
                    <td class="number">{number(&bar.figure.value, &bar.figure.unit)}</td>
                </tr>
            }
            .into_any()
        })
        .collect();
    view! {
        <table class="bars">
            <caption>{title}</caption>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}
