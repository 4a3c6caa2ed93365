//! The list of jobs: those of this browser, which js/jobs.js fills in, and those of the runner for readers who may see them.

use super::frame::Page;
use super::job::minute;
use crate::job::state_word;
use crate::{Route, Site};
use hipward_protocol::{JobState, ListedJob};
use leptos::prelude::*;

/// `jobs` is None for a reader who may not see the jobs of others, and on a site without a runner.
pub(super) fn page(site: &Site, jobs: Option<&[ListedJob]>) -> Page {
    let main = view! {
        <h1>"Jobs"</h1>
        <p class="lead">
            "Benchmarks with their results. Select two or more to compare them, for example before and after a change. "
            <a href=site.href(&Route::Benchmark)>"New benchmark"</a>
        </p>
        <form action=site.href(&Route::Compare) method="get">
            <section aria-labelledby="own" data-own-jobs>
                <h2 id="own">"This browser's jobs"</h2>
                <p class="hint" data-no-jobs>
                    "Jobs appear here after you submit one or open its page. The list is stored in this browser only."
                </p>
                {table(Vec::new(), true)}
            </section>
            {jobs.filter(|jobs| jobs.iter().any(awaits_approval)).map(|_| approvals_link(site))}
            {jobs.map(|jobs| all(site, jobs))}
            {jobs.map(|_| view! { <p><a href=site.href(&Route::Fleet)>"Hosts and devices"</a></p> })}
            <p class="actions">
                <button type="submit" class="primary">"Compare the selected jobs"</button>
            </p>
        </form>
    };
    Page {
        title: "Jobs".to_owned(),
        description: "Results of earlier benchmarks, to open again and to compare.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

fn awaits_approval(listed: &ListedJob) -> bool {
    listed.job.state == JobState::AwaitingApproval
}

fn approvals_link(site: &Site) -> AnyView {
    view! {
        <p class="report-note">
            "Jobs are waiting for approval. An operator of this server can "
            <a href=site.href(&Route::Approvals)>"review their code"</a> "."
        </p>
    }
    .into_any()
}

fn all(site: &Site, jobs: &[ListedJob]) -> AnyView {
    if jobs.is_empty() {
        return view! { <p>"This runner has no jobs yet."</p> }.into_any();
    }
    let rows: Vec<AnyView> = jobs.iter().map(|job| row(site, job)).collect();
    view! {
        <section aria-labelledby="all">
            <h2 id="all">"All jobs of this runner"</h2>
            {table(rows, false)}
        </section>
    }
    .into_any()
}

fn table(rows: Vec<AnyView>, hidden: bool) -> AnyView {
    view! {
        <div class="scroll" hidden=hidden>
            <table class="jobs">
                <thead>
                    <tr>
                        <th scope="col">"Compare"</th>
                        <th scope="col">"Job"</th>
                        <th scope="col">"State"</th>
                        <th scope="col">"Result"</th>
                        <th scope="col">"Submitted"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(site: &Site, listed: &ListedJob) -> AnyView {
    let job = &listed.job;
    let title = job.title.clone().unwrap_or_else(|| "Benchmark".to_owned());
    let word = state_word(job.state);
    let result = match (&listed.headline, &job.failure) {
        (Some(headline), _) => headline.clone(),
        (None, Some(failure)) => failure.message.clone(),
        (None, None) => String::new(),
    };
    let select = format!("Compare {title}, {}", minute(&job.created_at));
    view! {
        <tr>
            <td><input type="checkbox" name="job" value=job.id.clone() aria-label=select /></td>
            <td><a href=site.href(&Route::Job(job.id.clone()))>{title}</a></td>
            <td><span class="badge" data-state=word>{word}</span></td>
            <td>{result}</td>
            <td class="number"><time datetime=job.created_at.clone()>{minute(&job.created_at)}</time></td>
        </tr>
    }
    .into_any()
}
