//! Two or more jobs side by side: the time of each variant, its ratio to the first job's, and the conditions that differ.

use super::JobPage;
use super::frame::Page;
use super::job::minute;
use crate::job::{
    Evidence, NOISY, OTHER_HOST, differing, evidence, has_decisive, measured_variants, noise,
    ratio, ratio_text, state_word, stats, time,
};
use crate::{Route, Site};
use hipward_protocol::{JobView, Stats, VariantId};
use leptos::prelude::*;

/// The first job is the one that the others are compared with.
pub(super) fn page(site: &Site, jobs: &[JobPage]) -> Page {
    let main = match jobs {
        [] | [_] => view! {
            <h1>"Compare jobs"</h1>
            <p>
                "Select two or more jobs in the "<a href=site.href(&Route::Jobs)>"list of jobs"</a>
                " first. A job that no longer exists is left out."
            </p>
        }
        .into_any(),
        [first, others @ ..] => comparison(site, jobs, first, others),
    };
    Page {
        title: "Compare jobs".to_owned(),
        description:
            "Benchmarks side by side: times, ratios with intervals, and conditions that differ."
                .to_owned(),
        main,
        sidebar: None,
    }
}

fn comparison(site: &Site, jobs: &[JobPage], first: &JobPage, others: &[JobPage]) -> AnyView {
    let views: Vec<&JobView> = jobs.iter().map(|job| &job.view).collect();
    let differing = differing(&views);
    let decisive = has_decisive(&differing);
    let warning = decisive.then(|| {
        view! {
            <p class="admonition warning">
                {OTHER_HOST}
            </p>
        }
    });
    let noise = noise(&views);
    let noisy = (noise > 1.0).then(|| view! { <p class="admonition warning">{NOISY}</p> });
    let heads: Vec<AnyView> = jobs
        .iter()
        .enumerate()
        .map(|(at, job)| head(site, at, job, jobs))
        .collect();
    let rows: Vec<AnyView> = measured_variants(&views)
        .iter()
        .map(|variant| variant_row(variant, first, others, noise))
        .collect();
    view! {
        <h1>"Compare jobs"</h1>
        {warning}
        {noisy}
        <div class="scroll">
            <table class="comparison">
                <thead><tr><th scope="col">"Variant"</th>{heads}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="hint">
            "Each cell has the median in milliseconds with its 95 % interval, and how many times as fast it is as in the first job. The interval of that ratio divides the ends of the two intervals, so it is wider than an interval of a direct comparison: the jobs were not timed in turn. If it contains 1, the jobs cannot be told apart."
        </p>
        {conditions_table(jobs, &differing)}
    }
    .into_any()
}

fn head(site: &Site, at: usize, job: &JobPage, jobs: &[JobPage]) -> AnyView {
    let summary = &job.summary;
    let title = summary
        .title
        .clone()
        .unwrap_or_else(|| "Benchmark".to_owned());
    let letter = letter(at);
    view! {
        <th scope="col">
            {letter}": "<a href=site.href(&Route::Job(summary.id.clone()))>{title}</a>
            <br />
            <span class="hint">{minute(&summary.created_at)}", "{state_word(job.view.state)}</span>
            {(at > 0).then(|| view! { <br /><a href=with_first(site, at, jobs)>"Make it the first"</a> })}
        </th>
    }
    .into_any()
}

/// The address of this page with another job as the first, which the others are compared with.
fn with_first(site: &Site, first: usize, jobs: &[JobPage]) -> String {
    let others = (0..jobs.len()).filter(|&at| at != first);
    let ids: Vec<String> = [first]
        .into_iter()
        .chain(others)
        .filter_map(|at| Some(format!("job={}", jobs.get(at)?.summary.id)))
        .collect();
    format!("{}?{}", site.href(&Route::Compare), ids.join("&"))
}

/// `A`, `B`, …
fn letter(at: usize) -> char {
    u8::try_from(at).map_or('?', |at| char::from(b'A' + at))
}

fn variant_row(
    (id, label): &(VariantId, String),
    first: &JobPage,
    others: &[JobPage],
    noise: f64,
) -> AnyView {
    let reference = stats(&first.view, id);
    let cells: Vec<AnyView> = others
        .iter()
        .map(|job| cell(stats(&job.view, id), reference, noise))
        .collect();
    view! {
        <tr>
            <th scope="row">{label.clone()}</th>
            {cell(reference, None, noise)}
            {cells}
        </tr>
    }
    .into_any()
}

fn cell(stats: Option<&Stats>, reference: Option<&Stats>, noise: f64) -> AnyView {
    let Some(stats) = stats else {
        return view! { <td class="hint">"not measured"</td> }.into_any();
    };
    let time = time(stats);
    let ratio = reference.map(|reference| {
        let ratio = ratio(reference, stats);
        let class = match evidence(ratio, noise) {
            Evidence::Faster => "faster",
            Evidence::Slower => "slower",
            Evidence::None => "hint",
        };
        let text = ratio_text(ratio);
        view! { <br /><strong class=class>{text}</strong> }
    });
    view! { <td class="number">{time}{ratio}</td> }.into_any()
}

fn conditions_table(jobs: &[JobPage], differing: &[(String, Vec<String>)]) -> AnyView {
    if differing.is_empty() {
        return view! { <p>"All conditions are the same."</p> }.into_any();
    }
    let heads: Vec<AnyView> = (0..jobs.len())
        .map(|at| view! { <th scope="col">{letter(at)}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = differing
        .iter()
        .map(|(name, values)| {
            let cells: Vec<AnyView> = values
                .iter()
                .map(|value| view! { <td>{value.clone()}</td> }.into_any())
                .collect();
            view! { <tr><th scope="row">{name.clone()}</th>{cells}</tr> }.into_any()
        })
        .collect();
    view! {
        <section aria-labelledby="differences">
            <h2 id="differences">"Conditions that differ"</h2>
            <div class="scroll">
                <table class="conditions-table">
                    <thead><tr><th scope="col">"Condition"</th>{heads}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}
