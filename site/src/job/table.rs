//! The table of variants: what stands in each cell, and the table itself.

use super::format::{error, fixed, number};
use crate::html::Html;
use hipward_protocol::{
    Comparison, JobView, Outcome, OutputError, Stats, StopReason, VariantStatus, VariantView,
};

/// What a row says, as text.
pub(crate) struct Cells {
    pub(crate) variant: String,
    pub(crate) status: String,
    pub(crate) median: String,
    pub(crate) speedup: String,
    pub(crate) verdict: &'static str,
    pub(crate) precision: String,
    pub(crate) compile: String,
}

const NOTHING: &str = "–";

/// The cells of one variant.
pub(crate) fn cells(view: &JobView, row: &VariantView) -> Cells {
    let comparison = view.comparison(&row.variant);
    Cells {
        variant: view.label(&row.variant).to_owned(),
        status: status(row),
        median: row.stats.as_ref().map_or(NOTHING.to_owned(), |stats| {
            interval(stats.median, "", stats.ci_low, stats.ci_high)
        }),
        speedup: comparison.map_or(NOTHING.to_owned(), |c| {
            interval(c.speedup, "×", c.ci_low, c.ci_high)
        }),
        verdict: comparison.map_or(NOTHING, verdict),
        precision: precision(row),
        compile: row.compile_seconds.map_or(NOTHING.to_owned(), |seconds| {
            format!("{} s", number(seconds))
        }),
    }
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
    format!(
        "max error {} (eager {}), cosine {}",
        error(output.max_abs),
        error(output.eager_max_abs),
        fixed(output.cosine, 6)
    )
}

/// The table that grows while the job runs; empty before the first variant.
pub(crate) fn table(view: &JobView) -> Html {
    let mut html = Html::new();
    if view.variants.is_empty() {
        return html;
    }
    html.raw(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Variants\"><table class=\"variants\"><thead><tr>\
         <th scope=\"col\">Variant</th><th scope=\"col\">Median, ms (95 % interval)</th>\
         <th scope=\"col\">Speed-up over eager (95 % interval)</th><th scope=\"col\">Verdict</th>\
         <th scope=\"col\">Precision</th><th scope=\"col\">Compile and warm-up</th>\
         <th scope=\"col\">Sampling</th></tr></thead><tbody>",
    );
    for row in &view.variants {
        let cells = cells(view, row);
        html.raw("<tr><th scope=\"row\">")
            .text(&cells.variant)
            .raw("</th><td class=\"number\">")
            .text(&cells.median)
            .raw("</td><td class=\"number\">")
            .text(&cells.speedup)
            .raw("</td><td class=\"verdict\" data-verdict=\"")
            .text(cells.verdict)
            .raw("\">")
            .text(cells.verdict)
            .raw("</td><td>")
            .text(&cells.precision)
            .raw("</td><td class=\"number\">")
            .text(&cells.compile)
            .raw("</td><td>")
            .text(&cells.status)
            .raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
    html
}
