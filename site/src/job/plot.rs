//! The plot: one strip of raw samples for each variant, with the median and its interval once
//! the runner has computed them. It is inline SVG, so that it is on the page without JavaScript, prints, and
//! follows the theme through CSS classes.
//!
//! Time starts at zero. No statistics are computed here; the axis ends where all but the
//! slowest samples fit, and the caption counts what lies beyond.

use crate::format::{fixed, number};
use hipward_protocol::{JobView, Stats, VariantView};
use leptos::prelude::*;

// Narrow, so that its texts can be read on a phone.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 10.0;
const RIGHT: f64 = 14.0;
/// A variant: its name, and its strip of samples below.
const ROW: f64 = 56.0;
const NAME: f64 = 18.0;
const STRIP: f64 = ROW - NAME;
const TOP: f64 = 4.0;
const AXIS: f64 = 44.0;
/// More dots than this say nothing more and cost time to draw.
const DOTS: usize = 160;

/// Draws every variant that has samples; nothing when none has.
pub(super) fn plot(view: &JobView) -> AnyView {
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
        return ().into_any();
    }
    let step = tick_step(longest * 1.05);
    let end = step * (longest * 1.05 / step).ceil();
    let bottom = TOP + ROW * rows.len() as f64;
    let about = format!(
        "Raw samples in milliseconds from 0 to {}; lower is better. The table below has the same numbers.",
        number(end)
    );
    let floor = view.roofline.as_ref().map(|roofline| {
        let at = x(roofline.floor_ms, end);
        path("floor", &[("M", at), (" ", TOP), ("V", bottom)])
    });
    let strips: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let y = TOP + ROW * at as f64 + NAME + STRIP / 2.0;
            strip(view.label(&row.variant), row, y, end)
        })
        .collect();
    view! {
        <figure class="measurements">
            <svg
                class="plot"
                viewBox=format!("0 0 {} {}", coordinate(WIDTH), coordinate(bottom + AXIS))
                role="img"
                aria-labelledby="plot-title plot-about"
            >
                <title id="plot-title">"Time per call of each variant"</title>
                <desc id="plot-about">{about}</desc>
                {axis(step, end, bottom)}
                {floor}
                {strips}
            </svg>
            <figcaption>{caption(view, &rows, end)}</figcaption>
        </figure>
    }
    .into_any()
}

fn caption(view: &JobView, rows: &[&VariantView], end: f64) -> String {
    let mut caption = "Each dot is one call, earlier ones higher. The box spans the 20th to the 80th percentile, the long line \
                       is the median, the short one its 95 % interval."
        .to_owned();
    if view.roofline.is_some() {
        caption.push_str(" The dashed line is the floor: faster is impossible.");
    }
    let samples = || rows.iter().flat_map(|row| &row.samples);
    let beyond = samples().filter(|ms| **ms > end).count();
    if beyond > 0 {
        let all = samples().count();
        caption.push_str(&format!(
            " {beyond} of {all} samples are slower than the axis shows."
        ));
    }
    caption
}

fn x(ms: f64, end: f64) -> f64 {
    LEFT + (ms / end).min(1.0) * (WIDTH - LEFT - RIGHT)
}

/// A length with one decimal, which is enough for any screen.
fn coordinate(value: f64) -> String {
    fixed(value, 1)
}

/// A path from commands and coordinates in turn.
fn path(class: &'static str, data: &[(&'static str, f64)]) -> AnyView {
    let mut d = String::new();
    for (command, value) in data {
        d.push_str(command);
        d.push_str(&coordinate(*value));
    }
    view! { <path class=class d=d /> }.into_any()
}

fn label(class: &'static str, x: f64, y: f64, text: String) -> AnyView {
    view! { <text class=class x=coordinate(x) y=coordinate(y)>{text}</text> }.into_any()
}

fn axis(step: f64, end: f64, bottom: f64) -> Vec<AnyView> {
    let mut parts = Vec::new();
    for tick in 0..=(end / step).round() as usize {
        let ms = step * tick as f64;
        let at = x(ms, end);
        parts.push(path("grid", &[("M", at), (" ", TOP), ("V", bottom)]));
        let shown = number(ms);
        let shown = match shown.contains('.') {
            true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => shown,
        };
        parts.push(label("tick", at, bottom + 16.0, shown));
    }
    let unit = "milliseconds per call, lower is better".to_owned();
    parts.push(label("unit", WIDTH - RIGHT, bottom + 36.0, unit));
    parts
}

fn strip(name: &str, row: &VariantView, y: f64, end: f64) -> impl IntoView + use<> {
    let mut dots = String::new();
    let stride = row.samples.len().div_ceil(DOTS).max(1);
    for (at, ms) in row.samples.iter().enumerate().step_by(stride) {
        // Spread over the strip's height by order, so that drift over time shows as a slope.
        let height = (at as f64 / row.samples.len() as f64 - 0.5) * (STRIP - 8.0);
        let (x, y) = (coordinate(x(*ms, end)), coordinate(y + height));
        dots.push_str(&format!("M{x} {y}h0"));
    }
    let summary = row.stats.as_ref().map(|stats| summary(stats, y, end));
    view! {
        {label("name", LEFT, y - STRIP / 2.0 - 3.0, name.to_owned())}
        <path class="dots" d=dots />
        {summary}
    }
}

/// Box, interval and median of one variant.
fn summary(stats: &Stats, y: f64, end: f64) -> Vec<AnyView> {
    let (left, right) = (x(stats.p20, end), x(stats.p80, end));
    let (low, high) = (x(stats.ci_low, end), x(stats.ci_high, end));
    let edge = |at| path("interval", &[("M", at), (" ", y - 4.0), ("v", 8.0)]);
    vec![
        path(
            "box",
            &[
                ("M", left),
                (" ", y - 7.0),
                ("H", right),
                ("v", 14.0),
                ("H", left),
                ("v", -14.0),
            ],
        ),
        path("interval", &[("M", low), (" ", y), ("H", high)]),
        edge(low),
        edge(high),
        path(
            "median",
            &[("M", x(stats.median, end)), (" ", y - 11.0), ("v", 22.0)],
        ),
    ]
}

/// The time that all but two in a hundred samples stay below, at most four medians: on a busy host the slowest
/// samples can take a hundred times as long, and the others would be one point.
fn upper_sample(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len() - 1;
    sorted[last * 98 / 100].min(4.0 * sorted[last / 2])
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

#[cfg(all(test, feature = "ssr"))]
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

    fn drawn(view: &JobView) -> String {
        plot(view).to_html()
    }

    #[test]
    fn the_axis_starts_at_zero_and_names_its_unit() {
        let html = drawn(&view(&[(VariantId::EAGER, &[2.0, 2.1, 1.9])]));
        assert!(html.contains(">0</text>"), "{html}");
        assert!(html.contains("milliseconds per call, lower is better"));
        assert!(!html.contains("slower than the axis"));
    }

    #[test]
    fn an_outlier_does_not_squeeze_the_rest_and_is_counted() {
        let mut samples = vec![1.0; 99];
        samples.push(500.0);
        let html = drawn(&view(&[(VariantId::EAGER, &samples)]));
        assert!(
            html.contains("1 of 100 samples are slower than the axis shows"),
            "{html}"
        );
        assert!(!html.contains(">500</text>"));
        // Busy host: one sample in ten.
        samples.extend([90.0; 10]);
        let html = drawn(&view(&[(VariantId::EAGER, &samples)]));
        assert!(html.contains("11 of 110 samples are slower"), "{html}");
    }

    #[test]
    fn without_samples_there_is_no_plot() {
        assert!(!drawn(&JobView::default()).contains("svg"));
    }
}
