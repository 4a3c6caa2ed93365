//! Measurements of whole models, version by version: a plot for each study, and the tables of its comparisons in folds.

mod kernelbench;
mod plot;

use super::frame::{Page, breadcrumbs};
use super::lesson::on_this_page;
use super::ops::conditions;
use crate::content::document::{Section, slug};
use crate::content::models::{Comparison, Figure, Run, Study, in_words};
use crate::{Route, Site};
use leptos::prelude::*;

/// Up to this many runs are columns; more are rows.
const SIDE_BY_SIDE: usize = 5;

/// Text of the page about one study of the result file.
struct About {
    /// The study's name in the file.
    name: &'static str,
    title: &'static str,
    text: &'static str,
    /// The metrics that are drawn of its first comparison.
    drawn: Drawn,
}

enum Drawn {
    /// A plot for each metric, with a bar for each run.
    Runs(&'static [&'static str]),
    /// One plot of the first run, with a bar for each metric.
    Metrics(&'static [&'static str]),
}

/// Studies in the order of the page. Others go by their names.
const STUDIES: [About; 6] = [
    About {
        name: "compare-versions",
        title: "Four versions of one model",
        text: "Training steps of the same model with the same first weights and data. Speed-ups are over version 1 of the same table; the largest loss gap is that of any step to version 1’s loss. A step of version 4 is one CUDA graph. Forward, backward and optimizer are timed separately, without a graph, so they can add up to more than the step.",
        drawn: Drawn::Runs(&["step"]),
    },
    About {
        name: "ablation",
        title: "Every combination of version 2’s fusions",
        text: "The same training, with each fusion on or off. The first combination is measured again at the end: the difference between the two is how much the run itself drifted.",
        drawn: Drawn::Runs(&["step"]),
    },
    About {
        name: "sequence-length",
        title: "Longer sequences",
        text: "Time and memory of a training step as the sequence grows: version 1 stores the scores of its attention, which grow with the square of the length; version 2’s attention does not.",
        drawn: Drawn::Runs(&["step", "peak memory"]),
    },
    About {
        name: "roofline",
        title: "Distance from the roofline",
        text: "The operations and bytes that a step needs, at the rates that a matrix product and a copy reach on the same device. The first bound overlaps arithmetic and traffic, the second does not.",
        drawn: Drawn::Metrics(&["roofline", "arithmetic then traffic", "step"]),
    },
    About {
        name: "decode",
        title: "Generating tokens",
        text: "One token after the other from a prompt, greedily. Tokens can differ from version 1’s where two are about as likely and rounding decides.",
        drawn: Drawn::Runs(&["token"]),
    },
    About {
        name: "ddp",
        title: "Several processes",
        text: "Each process trains on a batch of its own, and gradients are averaged. Efficiency is the throughput over that of as many processes that do not communicate. CUDA graphs are off.",
        drawn: Drawn::Runs(&["efficiency of 2 processes over nccl"]),
    },
];

/// The first lesson about the versions, in Hipward's own content.
const CASE_STUDY: &str = "case-study/baseline-profile";

/// The versions, and what each adds to the one before.
const VERSIONS: [(&str, &str); 4] = [
    ("v1", "eager PyTorch, attention that stores its scores"),
    (
        "v2",
        "PyTorch’s own fusions: joined projections, scaled dot product attention, torch.compile",
    ),
    (
        "v3",
        "eager again, with this package’s kernels and their backwards",
    ),
    ("v4", "both, and a CUDA graph of the step"),
];

pub(super) fn page(site: &Site) -> Page {
    let mut studies: Vec<&Study> = site.ops.models.iter().collect();
    // Known ones in the order above, then the others in the file's.
    studies.sort_by_key(|study| {
        let known = STUDIES.iter().position(|about| about.name == study.name);
        known.unwrap_or(STUDIES.len())
    });
    let contents = studies.iter().map(|study| {
        let title = described(study).0;
        let href = format!("#{}", slug(title));
        view! { <li><a href=href>{title.to_owned()}</a></li> }.into_any()
    });
    let problems = kernelbench::summaries(&site.ops.kernelbench).map(|_| {
        let href = format!("#{}", kernelbench::ID);
        view! { <li><a href=href>{kernelbench::TITLE}</a></li> }.into_any()
    });
    let contents = on_this_page(contents.chain(problems).collect());
    let sections: Vec<AnyView> = studies.into_iter().map(section).collect();
    let course = site.content.lesson_at(CASE_STUDY).map(|(part, lesson)| {
        let href = site.href(&Route::lesson(part, lesson));
        view! { <p><a href=href>"The case study goes through these versions step by step"</a></p> }
    });
    let versions: Vec<AnyView> = VERSIONS
        .iter()
        .map(|(name, text)| view! { <div><dt>{*name}</dt><dd>{*text}</dd></div> }.into_any())
        .collect();
    Page {
        title: "Models".to_owned(),
        description: "A small Llama, trained and decoded by four versions: step times, memory, losses, every combination of fusions, and several processes."
            .to_owned(),
        main: view! {
            {breadcrumbs(&[(site.href(&Route::Ops), "Ops")], "Models")}
            <h1>"Models"</h1>
            <p class="lead">
                "A small Llama in four versions, trained and decoded on an NVIDIA GPU. Nothing has been measured on an AMD GPU yet."
            </p>
            <dl class="facts">{versions}</dl>
            {course}
            {contents}
            {sections.is_empty().then(|| view! { <p>"Nothing is recorded."</p> })}
            {sections}
            {kernelbench::section(&site.ops.kernelbench)}
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

fn about(study: &Study) -> Option<&'static About> {
    STUDIES.iter().find(|about| about.name == study.name)
}

/// The heading of a study, and the paragraph below it.
fn described(study: &Study) -> (&str, Option<&'static str>) {
    match about(study) {
        Some(about) => (about.title, Some(about.text)),
        None => (study.name.as_str(), None),
    }
}

/// The text of the page by headings, for the search. Tables of figures are left out.
pub(super) fn search_sections(site: &Site) -> Vec<Section> {
    let studies = site.ops.models.iter().map(described);
    let studies = studies.map(|(title, about)| {
        let mut section = Section {
            id: slug(title),
            title: title.to_owned(),
            text: String::new(),
        };
        section.push(about.unwrap_or_default());
        section
    });
    studies
        .chain(kernelbench::search_section(&site.ops.kernelbench))
        .collect()
}

fn section(study: &Study) -> AnyView {
    let about = about(study);
    let (title, text) = described(study);
    let plots = about
        .zip(study.comparisons.first())
        .map(|(about, first)| match about.drawn {
            Drawn::Runs(metrics) => metrics
                .iter()
                .filter_map(|metric| plot::runs(first, metric))
                .collect(),
            Drawn::Metrics(metrics) => Vec::from_iter(plot::metrics(first, metrics)),
        });
    let tables: Vec<AnyView> = study.comparisons.iter().map(tables).collect();
    view! {
        <h2 id=slug(title)>{title.to_owned()}</h2>
        {text.map(|text| view! { <p>{text}</p> })}
        {plots}
        {tables}
        {switches(study)}
        <details>
            <summary>"Conditions"</summary>
            {conditions(&study.rows)}
        </details>
    }
    .into_any()
}

/// The figures of a comparison in a fold, and its losses.
fn tables(comparison: &Comparison) -> AnyView {
    let caption = caption(comparison);
    let metrics = comparison.metrics(false);
    let losses = comparison.metrics(true);
    let is_wide = comparison.runs.len() > SIDE_BY_SIDE;
    let figures = match is_wide {
        true => as_rows(&caption, comparison, &metrics),
        false => side_by_side(&caption, comparison, &metrics),
    };
    let losses = (!losses.is_empty() && !is_wide)
        .then(|| side_by_side(&format!("Losses: {caption}"), comparison, &losses));
    view! { <details><summary>{caption}</summary>{figures}{losses}</details> }.into_any()
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

/// The switches of each version whose name does not list them.
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
            view! { <div><dt>{in_words(version)}</dt><dd>{switches}</dd></div> }.into_any()
        })
        .collect();
    (!entries.is_empty()).then(|| {
        view! { <details><summary>"The switches of each version"</summary><dl class="facts">{entries}</dl></details> }
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

/// A number in the form that is usual for its unit, with its interval.
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
