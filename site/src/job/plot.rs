//! The plot: one strip of raw samples for each variant, with the median and its interval once
//! the runner has computed them. SVG as text, so that it is on the page without JavaScript, prints, and
//! follows the theme through CSS classes.
//!
//! Time starts at zero. No statistics are computed here; the axis ends where all but the
//! slowest samples fit, and the caption counts what lies beyond.

use super::format::{fixed, number};
use crate::html::Html;
use hipward_protocol::{JobView, VariantView};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 168.0;
const RIGHT: f64 = 24.0;
const ROW: f64 = 44.0;
const TOP: f64 = 8.0;
const AXIS: f64 = 44.0;
/// More dots than this say nothing more and cost time to draw.
const DOTS: usize = 160;

/// Draws every variant that has samples; nothing when none has.
pub(crate) fn plot(view: &JobView) -> Html {
    let mut html = Html::new();
    let rows: Vec<&VariantView> = view
        .variants
        .iter()
        .filter(|row| !row.samples.is_empty())
        .collect();
    let longest = rows
        .iter()
        .map(|row| upper_sample(&row.samples))
        .fold(0.0, f64::max);
    if longest <= 0.0 {
        return html;
    }
    let step = tick_step(longest * 1.05);
    let end = step * (longest * 1.05 / step).ceil();
    let bottom = TOP + ROW * rows.len() as f64;
    html.raw("<figure class=\"measurements\"><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Plot\"><svg class=\"plot\" viewBox=\"0 0 720 ");
    coordinate(&mut html, bottom + AXIS);
    html.raw(
        "\" role=\"img\" aria-labelledby=\"plot-title plot-about\"><title id=\"plot-title\">Time per call of each variant</title>\
         <desc id=\"plot-about\">Raw samples in milliseconds from 0 to ",
    )
    .text(&number(end))
    .raw("; lower is better. The table below holds the same numbers.</desc>");
    axis(&mut html, step, end, bottom);
    let floor = view.roofline.as_ref().map(|roofline| roofline.floor_ms);
    if let Some(ms) = floor {
        path(
            &mut html,
            "floor",
            &[("M", x(ms, end)), (" ", TOP), ("V", bottom)],
        );
    }
    for (at, row) in rows.iter().enumerate() {
        strip(
            &mut html,
            (view.label(&row.variant), row),
            TOP + ROW * (at as f64 + 0.5),
            end,
        );
    }
    html.raw(
        "</svg></div><figcaption>Each dot is one call, earlier ones higher. The box spans the 20th to the 80th percentile, \
         the long line is the median, the short one its 95 % interval.",
    );
    if floor.is_some() {
        html.raw(" The dashed line is the floor: faster is impossible.");
    }
    let samples = || rows.iter().flat_map(|row| &row.samples);
    let beyond = samples().filter(|ms| **ms > end).count();
    if beyond > 0 {
        html.raw(" ")
            .number(beyond)
            .raw(" of ")
            .number(samples().count())
            .raw(" samples are slower than the axis shows.");
    }
    html.raw("</figcaption></figure>");
    html
}

fn x(ms: f64, end: f64) -> f64 {
    LEFT + (ms / end).min(1.0) * (WIDTH - LEFT - RIGHT)
}

/// A length with one decimal, which is enough for any screen.
fn coordinate(html: &mut Html, value: f64) {
    html.text(&fixed(value, 1));
}

/// Path data: commands and coordinates in turn.
fn path(html: &mut Html, class: &'static str, data: &[(&'static str, f64)]) {
    html.raw("<path class=\"").raw(class).raw("\" d=\"");
    for (command, value) in data {
        html.raw(command);
        coordinate(html, *value);
    }
    html.raw("\"/>");
}

fn label(html: &mut Html, class: &'static str, (x, y): (f64, f64), text: &str) {
    html.raw("<text class=\"").raw(class).raw("\" x=\"");
    coordinate(html, x);
    html.raw("\" y=\"");
    coordinate(html, y);
    html.raw("\">").text(text).raw("</text>");
}

fn axis(html: &mut Html, step: f64, end: f64, bottom: f64) {
    for tick in 0..=(end / step).round() as usize {
        let ms = step * tick as f64;
        let at = x(ms, end);
        path(html, "grid", &[("M", at), (" ", TOP), ("V", bottom)]);
        let shown = number(ms);
        let shown = match shown.contains('.') {
            true => shown.trim_end_matches('0').trim_end_matches('.'),
            false => &shown,
        };
        label(html, "tick", (at, bottom + 16.0), shown);
    }
    label(
        html,
        "unit",
        (WIDTH - RIGHT, bottom + 36.0),
        "milliseconds per call, lower is better",
    );
}

fn strip(html: &mut Html, (name, row): (&str, &VariantView), y: f64, end: f64) {
    label(html, "name", (LEFT - 12.0, y + 4.0), name);
    html.raw("<path class=\"dots\" d=\"");
    let stride = row.samples.len().div_ceil(DOTS).max(1);
    for (at, ms) in row.samples.iter().enumerate().step_by(stride) {
        // Spread over the strip's height by order, so that drift over time shows as a slope.
        let height = (at as f64 / row.samples.len() as f64 - 0.5) * (ROW - 18.0);
        html.raw("M");
        coordinate(html, x(*ms, end));
        html.raw(" ");
        coordinate(html, y + height);
        html.raw("h0");
    }
    html.raw("\"/>");
    let Some(stats) = &row.stats else { return };
    let (left, right) = (x(stats.p20, end), x(stats.p80, end));
    let box_data = [
        ("M", left),
        (" ", y - 7.0),
        ("H", right),
        ("v", 14.0),
        ("H", left),
        ("v", -14.0),
    ];
    path(html, "box", &box_data);
    let (low, high) = (x(stats.ci_low, end), x(stats.ci_high, end));
    path(html, "interval", &[("M", low), (" ", y), ("H", high)]);
    for edge in [low, high] {
        path(html, "interval", &[("M", edge), (" ", y - 4.0), ("v", 8.0)]);
    }
    let median = [("M", x(stats.median, end)), (" ", y - 11.0), ("v", 22.0)];
    path(html, "median", &median);
}

/// The sample that all but two in a hundred stay below.
fn upper_sample(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * 98 / 100]
}

/// 1, 2 or 5 times a power of ten, for four to ten ticks.
fn tick_step(end: f64) -> f64 {
    let rough = end / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::{Event, EventBody, Measurement, VariantId};

    fn view(samples: &[(VariantId, &[f64])]) -> JobView {
        let events: Vec<Event> = samples
            .iter()
            .enumerate()
            .map(|(at, (variant, ms))| Event {
                seq: at as u64 + 1,
                attempt: 1,
                at: String::new(),
                body: EventBody::Measured(Measurement::Samples {
                    variant: variant.clone(),
                    round: 0,
                    ms: ms.to_vec(),
                }),
            })
            .collect();
        JobView::from_events(&events)
    }

    #[test]
    fn the_axis_starts_at_zero_and_names_its_unit() {
        let html = plot(&view(&[(VariantId::EAGER, &[2.0, 2.1, 1.9])]));
        assert!(html.as_str().contains(">0</text>"), "{html:?}");
        assert!(
            html.as_str()
                .contains("milliseconds per call, lower is better")
        );
        assert!(!html.as_str().contains("slower than the axis"));
    }

    #[test]
    fn an_outlier_does_not_squeeze_the_rest_and_is_counted() {
        let mut samples = vec![1.0; 99];
        samples.push(500.0);
        let html = plot(&view(&[(VariantId::EAGER, &samples)]));
        assert!(
            html.as_str()
                .contains("1 of 100 samples are slower than the axis shows"),
            "{html:?}"
        );
        assert!(!html.as_str().contains(">500</text>"));
    }

    #[test]
    fn without_samples_there_is_no_plot() {
        assert!(plot(&JobView::default()).is_empty());
    }
}
