//! A job's page: its result, how to download it, and the code.

use super::frame::Page;
use super::{HistorySubject, JobPage, blocks, job_history};
use crate::content::document::code_figure;
use crate::content::highlight::highlight;
use crate::job::{DOWNLOADS, JobLive, JobResult, Served, state_word};
use crate::{Route, Site};
use leptos::prelude::*;

/// `2026-11-22T05:49:35.607Z` → `2026-11-22 05:49 UTC`.
pub(super) fn minute(time: &str) -> String {
    let minute = time.get(..16).unwrap_or(time);
    format!("{} UTC", minute.replacen('T', " ", 1))
}

pub(super) fn page(site: &Site, job: &JobPage) -> Page {
    let summary = &job.summary;
    let title = summary
        .title
        .clone()
        .unwrap_or_else(|| "Benchmark".to_owned());
    let api = format!("{}api/v1/jobs/{}", site.base(), summary.id);
    let requested = summary
        .variants
        .iter()
        .map(|variant| job.view.label(variant))
        .collect::<Vec<_>>()
        .join(", ");
    // Their names come with the first events.
    let is_named = !job.view.variants.is_empty();
    // A job that has ended does not change, so its page loads no module.
    let result = if job.view.state.is_final() {
        let view = Signal::stored(job.view.clone());
        view! { <JobResult view on_cancel=Callback::new(|()| ()) /> }.into_any()
    } else {
        let view = Served::Job(job.view.clone());
        view! { <JobLive view api=api.clone() /> }.into_any()
    };
    // A job that has not ended has no result to download; the island shows the links at its end.
    let downloads = view! {
        <span id=DOWNLOADS class="actions" hidden=!job.view.state.is_final()>
            <a class="button" href=format!("{api}/report.md") download="benchmark.md">
                "Download benchmark.md"
            </a>
            <a class="button" href=format!("{api}/report.json") download="benchmark.json">
                "Download JSON"
            </a>
        </span>
    };
    let labels = job_history::label_links(site, &summary.labels);
    let named = summary.title.clone().map(HistorySubject::Title);
    let subjects = [
        (named, "with this title"),
        (
            Some(HistorySubject::Code(summary.code_sha256.clone())),
            "of this code",
        ),
    ];
    let history: Vec<AnyView> = subjects
        .into_iter()
        .filter_map(|(subject, text)| Some((job_history::address(site, &subject?), text)))
        .enumerate()
        .map(|(at, (address, text))| {
            let separator = if at > 0 { ", " } else { "" };
            view! { {separator}<a href=address>{text}</a> }.into_any()
        })
        .collect();
    let main = view! {
        <h1 data-job=summary.id.clone() data-title=title.clone()>{title.clone()}</h1>
        <div>{result}</div>
        <section aria-labelledby="keep">
            <h2 id="keep">"Keep it"</h2>
            <p class="actions">
                {downloads}
                <button type="button" class="needs-js" data-run-again=api.clone()>
                    "Run it again"
                </button>
                <a class="button" href=site.href(&Route::Jobs)>"Compare with other jobs"</a>
                <button type="button" class="needs-js" data-copy-address>
                    "Copy the permalink"
                </button>
            </p>
            <dl class="facts">
                <div><dt>"Job"</dt><dd><code>{summary.id.clone()}</code></dd></div>
                <div>
                    <dt>"Submitted"</dt>
                    <dd><time datetime=summary.created_at.clone()>{minute(&summary.created_at)}</time></dd>
                </div>
                {(!labels.is_empty()).then(|| view! { <div><dt>"Labels"</dt><dd>{labels}</dd></div> })}
                <div><dt>"Badge"</dt><dd><a href=format!("{api}/badge.svg")>"badge.svg"</a></dd></div>
                <div><dt>"Results over time"</dt><dd>{history}</dd></div>
                {is_named.then(|| view! { <div><dt>"Variants"</dt><dd>{requested}</dd></div> })}
            </dl>
        </section>
        <section aria-labelledby="snippet">
            <h2 id="snippet">"Code"</h2>
            <div inner_html=code_figure(None, "python", &highlight(&job.code, "python"))></div>
            <p>
                <a class="button" href=blocks::playground_href(site, &job.code, None)>
                    "Open it in the playground"
                </a>
            </p>
        </section>
    };
    Page {
        title: format!("{title}: {}", state_word(job.view.state)),
        description: "Precision, timings and conditions of one benchmark.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}
