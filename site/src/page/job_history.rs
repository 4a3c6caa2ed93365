//! The results of one title, label or code over time: a plot for each variant, and the same values as a table.

use super::frame::Page;
use super::job::minute;
use super::{HistorySubject, JobHistory, query_value};
use crate::format::{fixed, number};
use crate::job::{measured_variants, stats, time};
use crate::{Route, Site};
use hipward_protocol::{JobSummary, JobView, Stats, VariantId};
use leptos::prelude::*;

// Narrow, so that its texts can be read on a phone.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 108.0;
const HEIGHT: f64 = 128.0;

/// The address of the history of a title, a label or a code.
pub(super) fn address(site: &Site, subject: &HistorySubject) -> String {
    let (name, value) = match subject {
        HistorySubject::Title(title) => ("title", title),
        HistorySubject::Label(label) => ("label", label),
        HistorySubject::Code(hash) => ("code", hash),
    };
    format!(
        "{}?{name}={}",
        site.href(&Route::History),
        query_value(value)
    )
}

/// Links from labels to their histories.
pub(super) fn label_links(site: &Site, labels: &[String]) -> Vec<AnyView> {
    labels
        .iter()
        .enumerate()
        .map(|(at, label)| {
            let separator = if at > 0 { ", " } else { "" };
            let address = address(site, &HistorySubject::Label(label.clone()));
            view! { {separator}<a href=address>{label.clone()}</a> }.into_any()
        })
        .collect()
}

/// `history` is None for a reader who may not see the jobs of others.
pub(super) fn page(site: &Site, history: Option<&JobHistory>) -> Page {
    let main = match history {
        None => view! {
            <h1>"Results over time"</h1>
            <p>
                "This page lists jobs of others, so it needs the token of this server. Open the address with the token that \
                 `hipward serve` printed, or enter the token on the "
                <a href=site.href(&Route::Benchmark)>"benchmark page"</a> "."
            </p>
        }
        .into_any(),
        Some(JobHistory {
            subject: Some(subject),
            runs,
        }) => results(site, subject, runs),
        Some(JobHistory { subject: None, .. }) => view! {
            <h1>"Results over time"</h1>
            <p>
                "Open a job in the "<a href=site.href(&Route::Jobs)>"list of jobs"</a>
                " and follow the link to its results over time."
            </p>
        }
        .into_any(),
    };
    Page {
        title: "Results over time".to_owned(),
        description: "The times of a benchmark over its jobs, with intervals.".to_owned(),
        main,
        sidebar: None,
    }
}

fn results(site: &Site, subject: &HistorySubject, runs: &[(JobSummary, JobView)]) -> AnyView {
    let about = match subject {
        HistorySubject::Title(title) => format!("Jobs with the title “{title}”"),
        HistorySubject::Label(label) => format!("Jobs with the label “{label}”"),
        HistorySubject::Code(hash) => {
            format!("Jobs with the code {}", hash.get(..12).unwrap_or(hash))
        }
    };
    if runs.is_empty() {
        return view! {
            <h1>"Results over time"</h1>
            <p class="lead">{about}" have no results yet."</p>
        }
        .into_any();
    }
    let views: Vec<&JobView> = runs.iter().map(|(_, view)| view).collect();
    let variants = measured_variants(&views);
    let changes = changes(&views);
    let plots: Vec<AnyView> = variants
        .iter()
        .enumerate()
        .map(|(nth, variant)| plot(nth, variant, &views, &changes))
        .collect();
    let note = (!changes.is_empty()).then(|| {
        view! {
            <p class="admonition warning">
                "The device or the version of PyTorch changed between some of these jobs, at the dashed lines. A difference \
                 there is not only the effect of the code."
            </p>
        }
    });
    let heads: Vec<AnyView> = variants
        .iter()
        .map(|(_, label)| {
            view! { <th scope="col" class="number">{label.clone()}", ms"</th> }.into_any()
        })
        .collect();
    let rows: Vec<AnyView> = runs
        .iter()
        .rev()
        .map(|(job, view)| row(site, job, view, &variants))
        .collect();
    view! {
        <h1>"Results over time"</h1>
        <p class="lead">{about}": the median time of each variant with its 95 % interval. Lower is better."</p>
        {note}
        <section aria-labelledby="plots">
            <h2 id="plots">"Variants"</h2>
            {plots}
        </section>
        <section aria-labelledby="runs">
            <h2 id="runs">"Jobs, the newest first"</h2>
            <div class="scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Submitted"</th>
                            <th scope="col">"Job"</th>
                            <th scope="col">"Device"</th>
                            <th scope="col">"PyTorch"</th>
                            {heads}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

/// Device and version of PyTorch.
fn conditions(view: &JobView) -> [String; 2] {
    let device = view.device.as_ref();
    let device = device.map_or_else(String::new, |device| {
        format!("{} ({})", device.name, device.id)
    });
    let environment = view.environment.as_ref();
    [
        device,
        environment.map_or_else(String::new, |environment| environment.torch.clone()),
    ]
}

/// The jobs, counted from 0, that ran under other conditions than the job before.
fn changes(views: &[&JobView]) -> Vec<usize> {
    (1..views.len())
        .filter(|&at| conditions(views[at]) != conditions(views[at - 1]))
        .collect()
}

fn row(site: &Site, job: &JobSummary, view: &JobView, variants: &[(VariantId, String)]) -> AnyView {
    let title = job.title.clone().unwrap_or_else(|| "Benchmark".to_owned());
    let [device, torch] = conditions(view);
    let times: Vec<AnyView> = variants
        .iter()
        .map(|(id, _)| {
            let time = stats(view, id).map_or_else(|| "–".to_owned(), time);
            view! { <td class="number">{time}</td> }.into_any()
        })
        .collect();
    view! {
        <tr>
            <td><time datetime=job.created_at.clone()>{minute(&job.created_at)}</time></td>
            <td><a href=site.href(&Route::Job(job.id.clone()))>{title}</a></td>
            <td>{device}</td>
            <td>{torch}</td>
            {times}
        </tr>
    }
    .into_any()
}

/// A length with one decimal, which is enough for any screen.
fn coordinate(value: f64) -> String {
    fixed(value, 1)
}

/// The plot of one variant: the jobs in their order from left to right, the time from 0 upwards.
fn plot(
    nth: usize,
    (id, label): &(VariantId, String),
    views: &[&JobView],
    changes: &[usize],
) -> AnyView {
    let points: Vec<(usize, &Stats)> = views
        .iter()
        .enumerate()
        .filter_map(|(at, view)| Some((at, stats(view, id)?)))
        .collect();
    let longest = points.iter().map(|(_, stats)| stats.ci_high);
    let end = longest.fold(0.0, f64::max) * 1.1;
    if end <= 0.0 {
        return ().into_any();
    }
    let step = (WIDTH - LEFT - RIGHT) / views.len() as f64;
    let x = |at: f64| coordinate(LEFT + step * (at + 0.5));
    let y = |ms: f64| coordinate(BOTTOM - (BOTTOM - TOP) * ms / end);
    let mut medians = String::new();
    let mut intervals = String::new();
    let mut line = String::new();
    for (at, stats) in &points {
        let at = *at as f64;
        let command = if line.is_empty() { "M" } else { "L" };
        line.push_str(&format!("{command}{} {}", x(at), y(stats.median)));
        intervals.push_str(&format!(
            "M{} {}V{}",
            x(at),
            y(stats.ci_low),
            y(stats.ci_high)
        ));
        let half = (step / 3.0).min(5.0);
        medians.push_str(&format!(
            "M{} {}h{}",
            coordinate(LEFT + step * (at + 0.5) - half),
            y(stats.median),
            coordinate(2.0 * half)
        ));
    }
    let ticks: Vec<AnyView> = [0.0, end / 2.2, end / 1.1]
        .into_iter()
        .map(|ms| {
            let d = format!(
                "M{} {}H{}",
                coordinate(LEFT),
                y(ms),
                coordinate(WIDTH - RIGHT)
            );
            let baseline = coordinate(BOTTOM - (BOTTOM - TOP) * ms / end + 4.0);
            view! {
                <path class="grid" d=d />
                <text class="unit" x=coordinate(LEFT - 6.0) y=baseline>{number(ms)}</text>
            }
            .into_any()
        })
        .collect();
    let dashed: String = changes
        .iter()
        .map(|&at| {
            format!(
                "M{} {}V{}",
                x(at as f64 - 0.5),
                coordinate(TOP),
                coordinate(BOTTOM)
            )
        })
        .collect();
    let (title_id, about_id) = (format!("plot-{nth}"), format!("plot-{nth}-about"));
    let labelled_by = format!("{title_id} {about_id}");
    let about = format!(
        "Median and interval of {} results in milliseconds, the oldest first; the table below has the same values.",
        points.len()
    );
    view! {
        <figure class="measurements">
            <svg
                class="plot"
                viewBox=format!("0 0 {} {}", coordinate(WIDTH), coordinate(HEIGHT))
                role="img"
                aria-labelledby=labelled_by
            >
                <title id=title_id>{label.clone()}</title>
                <desc id=about_id>{about}</desc>
                {ticks}
                <path class="floor" d=dashed />
                <path class="box" d=line />
                <path class="interval" d=intervals />
                <path class="median" d=medians />
                <text class="unit" x=coordinate(WIDTH - RIGHT) y=coordinate(HEIGHT - 4.0)>
                    "jobs, the newest on the right"
                </text>
            </svg>
            <figcaption>{label.clone()}", milliseconds per call"</figcaption>
        </figure>
    }
    .into_any()
}
