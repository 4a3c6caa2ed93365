//! The table of variants: the text of each cell, and the table itself.

use super::included_steps::included_steps;
use super::view::fact;
use crate::format::{error, fixed, number};
use hipward_protocol::{
    Comparison, JobView, Outcome, OutputError, Stats, StopReason, VariantStatus, VariantView,
};
use leptos::prelude::*;

/// The cells of a row, as text.
pub(crate) struct Cells {
    pub(crate) variant: String,
    pub(crate) status: String,
    pub(crate) median: String,
    pub(crate) hot: String,
    pub(crate) speedup: String,
    pub(crate) floor: String,
    pub(crate) verdict: &'static str,
    pub(crate) precision: String,
    pub(crate) compile: String,
}

const NOTHING: &str = "–";

/// The cells of one variant.
pub(crate) fn cells(view: &JobView, row: &VariantView) -> Cells {
    let comparison = view.comparison(&row.variant);
    let floor_share = row.stats.as_ref().and_then(|stats| stats.floor_share);
    Cells {
        variant: view.label(&row.variant).to_owned(),
        status: status(row),
        median: row.stats.as_ref().map_or(NOTHING.to_owned(), |stats| {
            interval(stats.median, "", stats.ci_low, stats.ci_high)
        }),
        hot: row
            .hot
            .as_ref()
            .and_then(|hot| middle(&hot.ms))
            .map_or(NOTHING.to_owned(), number),
        speedup: comparison.map_or(NOTHING.to_owned(), |c| {
            interval(c.speedup, "×", c.ci_low, c.ci_high)
        }),
        floor: floor_share.map_or(NOTHING.to_owned(), percent),
        verdict: comparison.map_or(NOTHING, verdict),
        precision: precision(row),
        compile: row.compile_seconds.map_or(NOTHING.to_owned(), |seconds| {
            format!("{} s", number(seconds))
        }),
    }
}

/// The columns that this job has figures for: a processor has no caches to flush, and not every model a floor.
pub(crate) fn has_hot(view: &JobView) -> bool {
    view.variants.iter().any(|row| row.hot.is_some())
}

pub(crate) fn has_floor(view: &JobView) -> bool {
    let share = |row: &VariantView| row.stats.as_ref().and_then(|stats| stats.floor_share);
    view.variants.iter().any(|row| share(row).is_some())
}

/// Two digits are enough; a variant far from its floor keeps one.
fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.1);
    format!("{} %", fixed(share * 100.0, decimals))
}

/// The middle of some figures.
fn middle(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// `1.23× (1.20–1.25)`.
fn interval(value: f64, unit: &str, low: f64, high: f64) -> String {
    format!("{}{unit} ({}–{})", number(value), number(low), number(high))
}

fn status(row: &VariantView) -> String {
    match (&row.status, &row.stats) {
        (VariantStatus::Unavailable(reason), _) => format!("Not available here: {reason}"),
        (VariantStatus::Rejected(reason), _) => format!("Not timed: {reason}"),
        (VariantStatus::Checked, _) => "Precision checked".to_owned(),
        (VariantStatus::Measured, Some(stats)) => measured(stats),
        _ => format!("Timing: {} samples", row.samples.len()),
    }
}

fn measured(stats: &Stats) -> String {
    let stop = match stats.stop {
        StopReason::Converged => "interval within 1 %",
        StopReason::SampleCap => "most samples reached",
        StopReason::TimeCap => "time cap reached",
        StopReason::TimeLimit => "stopped at the job’s time limit",
    };
    let mut text = format!("{} samples, {stop}", stats.n);
    if stats.dropped > 0 {
        text.push_str(&format!(", {} dropped as throttled", stats.dropped));
    }
    if stats.wide_spread {
        text.push_str("; spread over 10 %, read with care");
    }
    text
}

fn verdict(comparison: &Comparison) -> &'static str {
    match comparison.outcome {
        Outcome::Faster => "FASTER",
        Outcome::Slower => "SLOWER",
        Outcome::Same => "SAME",
        Outcome::Ambiguous => "AMBIGUOUS",
        Outcome::Impossible => "IMPOSSIBLE",
    }
}

fn precision(row: &VariantView) -> String {
    let Some(precision) = &row.precision else {
        return NOTHING.to_owned();
    };
    let word = if precision.passed { "Passed" } else { "Failed" };
    let worst = precision
        .outputs
        .iter()
        .max_by(|a, b| a.max_abs.total_cmp(&b.max_abs));
    match worst {
        Some(output) => format!(
            "{word}: {}, {} seeds against {}",
            errors(output),
            precision.seeds,
            precision.reference
        ),
        None => word.to_owned(),
    }
}

fn errors(output: &OutputError) -> String {
    let used = output.limit_used.map_or_else(String::new, |share| {
        format!(", {} % of the limit", fixed(100.0 * share, 0))
    });
    format!(
        "max error {} (eager {}){used}, cosine {}",
        error(output.max_abs),
        error(output.eager_max_abs),
        fixed(output.cosine, 6)
    )
}

/// The table, which grows while the job runs; nothing before the first variant. Details of a figure fold under its row.
pub(super) fn variants_table(view: &JobView) -> AnyView {
    if view.variants.is_empty() {
        return ().into_any();
    }
    let columns = Columns {
        hot: has_hot(view),
        floor: has_floor(view),
    };
    let rows: Vec<_> = view
        .variants
        .iter()
        .map(|row| variant_row(view, row, &columns))
        .collect();
    view! {
        <table class="variants">
            <thead>
                <tr>
                    <th scope="col">"Variant"</th>
                    <th scope="col">"Median, ms (95 % interval)"</th>
                    {columns.hot.then(|| view! { <th scope="col">"With warm caches, ms"</th> })}
                    <th scope="col">"Speed-up over eager (95 % interval)"</th>
                    <th scope="col">"Verdict"</th>
                    {columns.floor.then(|| view! { <th scope="col">"Floor ÷ median"</th> })}
                </tr>
            </thead>
            {rows}
        </table>
    }
    .into_any()
}

/// Which of the optional columns are shown.
struct Columns {
    hot: bool,
    floor: bool,
}

fn variant_row(view: &JobView, row: &VariantView, columns: &Columns) -> AnyView {
    let cells = cells(view, row);
    let width = 3 + usize::from(columns.hot) + usize::from(columns.floor);
    if row.stats.is_none() {
        // Nothing is measured, or not yet: one sentence in place of figures.
        return view! {
            <tbody>
                <tr>
                    <th scope="row">{cells.variant}</th>
                    <td class="status" colspan=width.to_string()>{cells.status}</td>
                </tr>
            </tbody>
        }
        .into_any();
    }
    let summary = match &row.precision {
        Some(precision) if precision.passed => format!("Precision passed; {}", cells.status),
        Some(_) => format!("Precision failed; {}", cells.status),
        None => cells.status.clone(),
    };
    let details = details(view, row, &cells);
    view! {
        <tbody>
            <tr>
                <th scope="row">{cells.variant}</th>
                {figure("Median, ms", cells.median)}
                {columns.hot.then(|| figure("With warm caches, ms", cells.hot))}
                {figure("Speed-up", cells.speedup)}
                <td class="verdict" data-label="Verdict" data-verdict=cells.verdict>
                    {cells.verdict}
                </td>
                {columns.floor.then(|| figure("Floor ÷ median", cells.floor))}
            </tr>
            <tr class="more">
                <td colspan=(width + 1).to_string()>
                    <details>
                        <summary>{summary}</summary>
                        <dl class="facts">{details}</dl>
                    </details>
                </td>
            </tr>
        </tbody>
    }
    .into_any()
}

/// A cell; on a narrow screen `label` is shown beside the text.
fn figure(label: &'static str, text: String) -> impl IntoView + use<> {
    view! { <td class="number" data-label=label>{text}</td> }
}

/// The facts behind the figures of one row.
fn details(view: &JobView, row: &VariantView, cells: &Cells) -> Vec<impl IntoView + use<>> {
    let mut facts = Vec::new();
    if let Some(reason) = view
        .comparison(&row.variant)
        .and_then(|comparison| comparison.reason.clone())
    {
        facts.push(fact("Why ambiguous", reason));
    }
    facts.push(fact("Precision", cells.precision.clone()));
    facts.push(fact("Compile and warm-up", cells.compile.clone()));
    if !(row.based_on.is_empty() && row.includes.is_empty()) {
        facts.push(fact("Includes", included_steps(view, row)));
    }
    if let Some(stats) = &row.stats {
        let dropped = match stats.dropped {
            0 => "no sample dropped".to_owned(),
            n => format!("{n} samples dropped"),
        };
        facts.push(fact("Throttled", dropped));
    }
    if let Some(hot) = &row.hot {
        let text = format!(
            "{} batches of {} calls; {} ms a call on the host’s clock",
            hot.ms.len(),
            hot.calls,
            number(hot.wall_ms)
        );
        facts.push(fact("With warm caches", text));
    }
    facts
}
