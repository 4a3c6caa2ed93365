//! The list of jobs: those of this browser, which js/jobs.js fills in, and those of the runner for readers who may see them.

use super::frame::Page;
use super::job::minute;
use super::job_history::label_links;
use super::{JobList, ListFilter};
use crate::job::state_word;
use crate::{Route, Site};
use hipward_protocol::{JobState, ListedJob, Outcome};
use leptos::prelude::*;

/// `list` is None for a reader who may not see the jobs of others, and on a site without a runner.
pub(super) fn page(site: &Site, list: Option<&JobList>) -> Page {
    let main = view! {
        <h1>"Jobs"</h1>
        <p class="lead">
            "Benchmarks with their results. Select two or more to compare them, for example before and after a change. "
            <a href=site.href(&Route::Benchmark)>"New benchmark"</a>
        </p>
        <form id=FILTER action=site.href(&Route::Jobs) method="get"></form>
        <form action=site.href(&Route::Compare) method="get">
            <section aria-labelledby="own" data-own-jobs>
                <h2 id="own">"This browser's jobs"</h2>
                <p class="hint" data-no-jobs>
                    "Jobs appear here after you submit one or open its page. The list is stored in this browser only."
                </p>
                {table(Vec::new(), true)}
            </section>
            {list
                .filter(|list| list.jobs.iter().any(awaits_approval))
                .map(|_| approvals_link(site))}
            {list.map(|list| all(site, list))}
            {list.map(|_| view! { <p><a href=site.href(&Route::Fleet)>"Hosts and devices"</a></p> })}
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

/// The states in the filter, with their names in the address.
const STATES: [(JobState, &str); 6] = [
    (JobState::AwaitingApproval, "awaiting-approval"),
    (JobState::Queued, "queued"),
    (JobState::Running, "running"),
    (JobState::Done, "done"),
    (JobState::Failed, "failed"),
    (JobState::Cancelled, "cancelled"),
];

/// The outcomes in the filter, with their names in the address.
const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Faster, "FASTER"),
    (Outcome::Slower, "SLOWER"),
    (Outcome::Same, "SAME"),
    (Outcome::Ambiguous, "AMBIGUOUS"),
    (Outcome::Impossible, "IMPOSSIBLE"),
];

fn all(site: &Site, list: &JobList) -> AnyView {
    let is_filtered = list.filter != ListFilter::default();
    if list.jobs.is_empty() && !is_filtered {
        return view! { <p>"This runner has no jobs yet."</p> }.into_any();
    }
    let found = match list.jobs.len() {
        0 => view! { <p>"No job matches."</p> }.into_any(),
        _ => table(list.jobs.iter().map(|job| row(site, job)).collect(), false),
    };
    view! {
        <section aria-labelledby="all">
            <h2 id="all">"All jobs of this runner"</h2>
            {filter(site, list, is_filtered)}
            {found}
        </section>
    }
    .into_any()
}

/// The form that filters the list. It belongs to the element `filter` outside of the form that compares jobs.
fn filter(site: &Site, list: &JobList, is_filtered: bool) -> AnyView {
    let filter = &list.filter;
    let states =
        STATES.map(|(state, name)| option(name, state_word(state), filter.state == Some(state)));
    let outcomes =
        OUTCOMES.map(|(outcome, name)| option(name, name, filter.outcome == Some(outcome)));
    let chosen = filter
        .device
        .iter()
        .filter(|device| !list.devices.contains(device));
    let devices: Vec<AnyView> = list
        .devices
        .iter()
        .chain(chosen)
        .map(|device| option(device, device, filter.device.as_ref() == Some(device)))
        .collect();
    let everything = is_filtered.then(|| {
        view! { " "<a href=site.href(&Route::Jobs)>"Show all"</a> }
    });
    view! {
        <p class="actions">
            <label>
                "Search "
                <input
                    type="search"
                    name="search"
                    form=FILTER
                    value=filter.search.clone()
                    placeholder="title, result, label or hash"
                />
            </label>
            <label>"State "{select("state", states.into())}</label>
            <label>"Device "{select("device", devices)}</label>
            <label>"Verdict "{select("outcome", outcomes.into())}</label>
            <label>
                "Label "
                <input name="label" form=FILTER size="12" value=filter.label.clone().unwrap_or_default() />
            </label>
            <label class="switch">
                <input type="checkbox" name="mine" value="true" form=FILTER checked=filter.is_mine />
                "Only mine"
            </label>
            <button type="submit" form=FILTER>"Filter"</button>
            {everything}
        </p>
    }
    .into_any()
}

/// The id of the form that filters the list.
const FILTER: &str = "filter";

fn select(name: &'static str, options: Vec<AnyView>) -> AnyView {
    view! {
        <select name=name form=FILTER autocomplete="off">
            <option value="">"all"</option>
            {options}
        </select>
    }
    .into_any()
}

fn option(value: &str, text: &str, selected: bool) -> AnyView {
    view! { <option value=value.to_owned() selected=selected>{text.to_owned()}</option> }.into_any()
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
    let labels = label_links(site, &job.labels);
    let place: Vec<String> = listed.device.iter().chain(&listed.owner).cloned().collect();
    let separator = match !labels.is_empty() && !place.is_empty() {
        true => " · ",
        false => "",
    };
    let origin = (!labels.is_empty() || !place.is_empty())
        .then(|| view! { <br /><small>{labels}{separator}{place.join(" · ")}</small> });
    let select = format!("Compare {title}, {}", minute(&job.created_at));
    view! {
        <tr>
            <td><label class="box"><input type="checkbox" name="job" value=job.id.clone() aria-label=select /></label></td>
            <td><a href=site.href(&Route::Job(job.id.clone()))>{title}</a>{origin}</td>
            <td><span class="badge" data-state=word>{word}</span></td>
            <td>{result}</td>
            <td class="number"><time datetime=job.created_at.clone()>{minute(&job.created_at)}</time></td>
        </tr>
    }
    .into_any()
}
