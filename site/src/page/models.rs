//! What was measured of the whole models, version by version: one table for each comparison that was recorded.

use super::frame::Page;
use super::ops::conditions;
use crate::content::document::{Section, slug};
use crate::content::models::{Comparison, Figure, Run, Study};
use crate::{Route, Site};
use leptos::prelude::*;

/// Up to so many runs stand side by side, each a column; more are rows.
const SIDE_BY_SIDE: usize = 5;

/// A study's name in the file, its heading, and what it asks. Others go by their name.
const STUDIES: [(&str, &str, &str); 6] = [
    (
        "compare-versions",
        "The versions",
        "Training steps of the same model with the same first weights and data. Speed-ups are over the first version of the same table. The largest loss gap is that of any step to the first version’s loss.",
    ),
    (
        "ablation",
        "Every combination of version 2’s fusions",
        "The same training, with each fusion on or off. The first is measured again at the end: the two differ by what the run itself drifted.",
    ),
    (
        "decode",
        "Generating tokens",
        "One token after the other from a prompt, greedily. Tokens can differ from the first version’s where two are about as likely, and rounding decides.",
    ),
    (
        "ddp",
        "Several processes",
        "Each process trains on a batch of its own, and gradients are averaged. Efficiency is the throughput over that of as many processes that need not talk. CUDA graphs are off.",
    ),
    (
        "sequence-length",
        "Longer sequences",
        "What time and memory do as the sequence grows, with attention that stores its scores and with attention that does not.",
    ),
    (
        "roofline",
        "Distance from the roofline",
        "What the step needs in operations and bytes, at the rates that a matrix product and a copy reach on the same device.",
    ),
];

pub(super) fn page(site: &Site) -> Page {
    let known = STUDIES.iter().map(|(name, ..)| *name);
    let mut studies: Vec<&Study> = site.ops.models.iter().collect();
    // Known ones in the order above, then the others in the file's.
    studies.sort_by_key(|study| {
        known
            .clone()
            .position(|name| name == study.name)
            .unwrap_or(STUDIES.len())
    });
    let sections: Vec<AnyView> = studies.into_iter().map(section).collect();
    Page {
        title: "Models".to_owned(),
        description: "A small Llama, trained and decoded by four versions: step times, memory, losses, every combination of fusions, and several processes."
            .to_owned(),
        main: view! {
            <nav aria-label="Breadcrumbs">
                <ol class="breadcrumbs" role="list">
                    <li><a href=site.href(&Route::Ops)>"Ops"</a></li>
                    <li aria-current="page">"Models"</li>
                </ol>
            </nav>
            <h1>"Models"</h1>
            <p class="lead">
                "A small Llama in four versions: eager PyTorch, fused layers and a compiler, kernels with backwards, and all of it. What was measured of them is here, with its conditions."
            </p>
            {sections.is_empty().then(|| view! { <p>"Nothing is recorded."</p> })}
            {sections}
            <h2>"Measure it yourself"</h2>
            <p>
                <code>"python -m hipward_kernels.workshop.record_results"</code>
                " in " <code>"kernels/"</code> " runs the studies and appends to " <code>"results/models.csv"</code>
                ", which this page is made of."
            </p>
        }
        .into_any(),
        sidebar: None,
    }
}

/// The heading of a study, and the paragraph below it.
fn described(study: &Study) -> (&str, Option<&'static str>) {
    STUDIES
        .iter()
        .find(|(name, ..)| *name == study.name)
        .map_or((study.name.as_str(), None), |(_, title, about)| {
            (*title, Some(*about))
        })
}

/// The text of the page by headings, for the search. Tables of figures are left out.
pub(super) fn search_sections(site: &Site) -> Vec<Section> {
    let studies = site.ops.models.iter().map(described);
    studies
        .map(|(title, about)| {
            let mut section = Section {
                id: slug(title),
                title: title.to_owned(),
                text: String::new(),
            };
            section.push(about.unwrap_or_default());
            section
        })
        .collect()
}

fn section(study: &Study) -> AnyView {
    let (title, says) = described(study);
    let tables: Vec<AnyView> = study
        .comparisons
        .iter()
        .map(|comparison| {
            let caption = format!("{}: {}", title, caption(comparison));
            let metrics = comparison.metrics(false);
            let losses = comparison.metrics(true);
            if comparison.runs.len() > SIDE_BY_SIDE {
                return as_rows(&caption, comparison, &metrics);
            }
            let curves = (!losses.is_empty()).then(|| {
                let caption = format!("Losses: {}", self::caption(comparison));
                let table = side_by_side(&caption, comparison, &losses);
                view! { <details><summary>"Losses on the way"</summary>{table}</details> }
            });
            view! { {side_by_side(&caption, comparison, &metrics)} {curves} }.into_any()
        })
        .collect();
    view! {
        <h2 id=slug(title)>{title.to_owned()}</h2>
        {says.map(|says| view! { <p>{says}</p> })}
        {tables}
        {switches(study)}
        {conditions(&study.rows)}
    }
    .into_any()
}

fn caption(comparison: &Comparison) -> String {
    let date = comparison.date.get(..16).unwrap_or(&comparison.date);
    format!(
        "{}; {} UTC",
        comparison.setting(),
        date.replacen('T', " ", 1)
    )
}

/// A column for each run.
fn side_by_side(caption: &str, comparison: &Comparison, metrics: &[(&str, &str)]) -> AnyView {
    let labels = comparison.runs.iter().map(|run| comparison.label(run));
    let head: Vec<AnyView> = labels.map(column_head).collect();
    let rows: Vec<AnyView> = metrics
        .iter()
        .map(|(metric, unit)| {
            let cells: Vec<AnyView> = comparison
                .runs
                .iter()
                .map(|run| cell(run, metric))
                .collect();
            view! { <tr><th scope="row">{heading(metric, unit)}</th>{cells}</tr> }.into_any()
        })
        .collect();
    table(caption, "Figure", head, rows)
}

/// A row for each run.
fn as_rows(caption: &str, comparison: &Comparison, metrics: &[(&str, &str)]) -> AnyView {
    let headings = metrics.iter().map(|(metric, unit)| heading(metric, unit));
    let head: Vec<AnyView> = headings.map(column_head).collect();
    let rows: Vec<AnyView> = comparison
        .runs
        .iter()
        .map(|run| {
            let cells: Vec<AnyView> = metrics
                .iter()
                .map(|(metric, _)| cell(run, metric))
                .collect();
            view! { <tr><th scope="row">{comparison.label(run)}</th>{cells}</tr> }.into_any()
        })
        .collect();
    table(caption, "Model", head, rows)
}

fn table(caption: &str, corner: &'static str, head: Vec<AnyView>, rows: Vec<AnyView>) -> AnyView {
    view! {
        <div class="scroll" tabindex="0" role="group" aria-label=caption.to_owned()>
            <table>
                <caption>{caption.to_owned()}</caption>
                <thead><tr><th scope="col">{corner}</th>{head}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn column_head(text: String) -> AnyView {
    view! { <th scope="col">{text}</th> }.into_any()
}

fn cell(run: &Run, metric: &str) -> AnyView {
    let text = run.figure(metric).map(shown).unwrap_or_default();
    view! { <td class="number">{text}</td> }.into_any()
}

/// What a version switches on, where its name does not say it.
fn switches(study: &Study) -> Option<AnyView> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for run in study.comparisons.iter().flat_map(|one| &one.runs) {
        let version = (run.version.as_str(), run.switches.as_str());
        if version.0 != version.1 && !found.contains(&version) {
            found.push(version);
        }
    }
    let entries: Vec<AnyView> = found
        .iter()
        .map(|(version, switches)| {
            let switches = switches.replace(' ', ", ");
            view! { <div><dt>{(*version).to_owned()}</dt><dd>{switches}</dd></div> }.into_any()
        })
        .collect();
    (!entries.is_empty()).then(|| {
        view! { <details><summary>"What each switches on"</summary><dl class="facts">{entries}</dl></details> }
            .into_any()
    })
}

/// `Step, ms`; a unit that the numbers carry is left out.
fn heading(metric: &str, unit: &str) -> String {
    let mut letters = metric.chars();
    let metric: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    match unit {
        "share" | "relative" | "×" => metric,
        _ => format!("{metric}, {unit}"),
    }
}

/// A number as its unit is read, with its interval.
fn shown(figure: &Figure) -> String {
    let text = number(&figure.value, &figure.unit);
    let ends = [&figure.low, &figure.high].map(|end| number(end, &figure.unit));
    if ends.iter().any(String::is_empty) {
        return text;
    }
    format!("{text} ({}–{})", ends[0], ends[1])
}

fn number(text: &str, unit: &str) -> String {
    let Ok(value) = text.parse::<f64>() else {
        return text.to_owned();
    };
    match unit {
        "share" => format!("{:.1} %", value * 100.0),
        "relative" => format!("{:.2} %", value * 100.0),
        "×" => format!("{value:.2} ×"),
        "nats/token" => format!("{value:.3}"),
        // Milliseconds of a token, say, are less than one.
        "ms" | "s" if value < 1.0 => format!("{value:.3}"),
        "ms" | "s" => format!("{value:.2}"),
        _ if value >= 1000.0 || value.fract() == 0.0 => grouped(&format!("{value:.0}")),
        _ => format!("{value:.1}"),
    }
}

/// `121 753`, with narrow spaces.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_their_units_are_read() {
        assert_eq!(number("67.2835", "ms"), "67.28");
        assert_eq!(number("0.596931", "ms"), "0.597");
        assert_eq!(number("121753", "tokens/s"), "121\u{202f}753");
        assert_eq!(number("0", "tensors"), "0");
        assert_eq!(number("0.96803", "share"), "96.8 %");
        assert_eq!(number("0.00459607", "relative"), "0.46 %");
        assert_eq!(number("3.13582", "×"), "3.14 ×");
        assert_eq!(number("nan?", "ms"), "nan?");
        assert_eq!(heading("step", "ms"), "Step, ms");
        assert_eq!(heading("speed-up", "×"), "Speed-up");
    }
}
