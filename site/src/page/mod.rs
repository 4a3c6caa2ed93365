//! Pages: one function from a route to complete HTML. One file for each kind of page; the frame
//! around all of them is `frame.rs`.

mod approvals;
mod benchmark;
mod blocks;
mod claims;
mod content_errors;
mod exercise;
mod fleet;
mod frame;
mod home;
mod isa;
mod job;
mod job_comparison;
mod job_history;
mod jobs;
mod learn;
mod lesson;
mod models;
mod no_runner;
mod not_found;
mod ops;
mod playground;
mod reference;
mod remote_job;
mod rules;

pub use fleet::duration;
pub use frame::CONTENT_SECURITY_POLICY;

use crate::content::document::Section;
use crate::{ContentError, Route, Site};
use frame::Page;
use hipward_protocol::{
    Capabilities, Fleet, JobState, JobSummary, JobView, ListedJob, Outcome, PendingJob,
};
use hydration_context::SsrSharedContext;
use leptos::prelude::*;
use std::sync::Arc;

/// Data of a page that is not part of the content or the rules.
#[derive(Clone, Debug)]
pub enum PageData {
    /// Nothing.
    None,
    /// Capabilities of the runner; `None` on a site without a runner.
    Runner(Option<Capabilities>),
    /// The newest jobs; `None` if the reader may not see the jobs of others.
    Jobs(Option<JobList>),
    /// Results over time; `None` if the reader may not see the jobs of others.
    History(Option<JobHistory>),
    /// The hosts; `None` if the reader may not see the jobs of others.
    Fleet(Option<Box<Fleet>>),
    /// The jobs that wait for approval; `None` if the reader may not see them.
    Approvals(Option<Vec<ApprovalPage>>),
    /// Jobs to compare.
    Compare(Vec<JobPage>),
    /// A job.
    Job(Box<JobPage>),
}

/// The list of the jobs of a runner.
#[derive(Clone, Debug, Default)]
pub struct JobList {
    /// The newest jobs that match the filter.
    pub jobs: Vec<ListedJob>,
    /// The filter.
    pub filter: ListFilter,
    /// The devices that jobs have run on, by which the list can be filtered.
    pub devices: Vec<String>,
}

/// The filter of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Words that must be in a job's texts.
    pub search: String,
    /// The state.
    pub state: Option<JobState>,
    /// The device.
    pub device: Option<String>,
    /// The outcome of at least one variant.
    pub outcome: Option<Outcome>,
    /// A label.
    pub label: Option<String>,
    /// Only the jobs of the reader.
    pub is_mine: bool,
}

/// The results of one program over time.
#[derive(Clone, Debug, Default)]
pub struct JobHistory {
    /// The property that the jobs share; `None` if the address names none.
    pub subject: Option<HistorySubject>,
    /// The jobs with a verdict, the oldest first, with their event logs folded without samples.
    pub runs: Vec<(JobSummary, JobView)>,
}

/// The property that the jobs of a history share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistorySubject {
    /// The title.
    Title(String),
    /// A label.
    Label(String),
    /// The SHA-256 of the code.
    Code(String),
}

/// A job with everything its page shows.
#[derive(Clone, Debug)]
pub struct JobPage {
    /// The requested address.
    pub summary: JobSummary,
    /// Its event log, folded.
    pub view: JobView,
    /// The snippet.
    pub code: String,
}

/// A job whose code waits for approval.
#[derive(Clone, Debug)]
pub struct ApprovalPage {
    /// The job.
    pub pending: PendingJob,
    /// Its code.
    pub code: String,
    /// The code that was approved last, of the same sender or with the same title.
    pub approved_code: Option<String>,
}

/// A value for the query of an address.
fn query_value(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The texts of a page that can be searched.
pub(crate) struct Contents {
    pub(crate) title: String,
    /// Other names of its subject.
    pub(crate) keywords: Vec<String>,
    pub(crate) description: String,
    /// The text by headings; empty for tools and lists of pages, which are found by their titles.
    pub(crate) sections: Vec<Section>,
}

/// The texts of a page that can be searched.
pub(crate) fn contents(site: &Site, route: &Route) -> Contents {
    let owner = root();
    let contents = owner.with(|| {
        let page = page(site, route, &PageData::None);
        Contents {
            title: page.title,
            keywords: keywords(site, route),
            description: page.description,
            sections: sections(site, route),
        }
    });
    owner.unset();
    contents
}

fn keywords(site: &Site, route: &Route) -> Vec<String> {
    let found = match route {
        Route::Lesson { part, lesson } => site
            .content
            .lesson(part, lesson)
            .map(|(_, lesson)| &lesson.meta.keywords),
        Route::Reference(slug) => site.content.reference(slug).map(|table| &table.keywords),
        _ => None,
    };
    found.cloned().unwrap_or_default()
}

fn sections(site: &Site, route: &Route) -> Vec<Section> {
    match route {
        Route::Lesson { part, lesson } => {
            let found = site.content.lesson(part, lesson);
            found.map_or_else(Vec::new, |(part, lesson)| {
                lesson::search_sections(part, lesson)
            })
        }
        Route::Rule(name) => site
            .rule(name)
            .map_or_else(Vec::new, rules::search_sections),
        Route::Reference(slug) => reference::search_sections(site, slug),
        Route::Op(name) => site
            .ops
            .get(name)
            .map_or_else(Vec::new, ops::search_sections),
        Route::Models => models::search_sections(site),
        _ => Vec::new(),
    }
}

/// The owner of a page's signals. The shared context marks the contents of an island that the server alone renders.
fn root() -> Owner {
    Owner::new_root(Some(Arc::new(SsrSharedContext::new_islands())))
}

/// The complete HTML of a page. Pure: the same arguments give the same bytes.
pub fn render_page(site: &Site, route: &Route, data: &PageData) -> String {
    let owner = root();
    let html = owner.with(|| frame::html(site, route, page(site, route, data)));
    owner.unset();
    html
}

/// The page that replaces one with errors in its content: its errors, and those of other pages.
pub fn render_content_errors(
    site: &Site,
    own: &[&ContentError],
    others: &[&ContentError],
) -> String {
    let owner = Owner::new();
    let html = owner.with(|| {
        let page = content_errors::page(own, others);
        frame::html(site, &Route::Learn, page)
    });
    owner.unset();
    html
}

fn page(site: &Site, route: &Route, data: &PageData) -> Page {
    let found = match (route, data) {
        (Route::Home, _) => Some(home::page(site)),
        (Route::Learn, _) => Some(learn::page(site)),
        (Route::ReadingPath(path), _) => Some(learn::path(site, *path)),
        (Route::Lesson { part, lesson }, _) => lesson::page(site, part, lesson),
        (Route::Playground, _) => Some(playground::page(site)),
        (Route::Benchmark, PageData::Runner(capabilities)) => {
            Some(benchmark::page(site, capabilities.as_ref()))
        }
        (Route::Benchmark, _) => Some(benchmark::page(site, None)),
        (Route::Isa, PageData::Runner(capabilities)) => {
            Some(isa::page(site, capabilities.as_ref()))
        }
        (Route::Isa, _) => Some(isa::page(site, None)),
        (Route::Rules, _) => Some(rules::index(site)),
        (Route::Rule(name), _) => rules::page(site, name),
        (Route::Ops, _) => Some(ops::index(site)),
        (Route::Op(name), _) => ops::page(site, name),
        (Route::Models, _) => Some(models::page(site)),
        (Route::References, _) => Some(reference::index(site)),
        (Route::Reference(slug), _) => reference::page(site, slug),
        (Route::Jobs, PageData::Jobs(jobs)) => Some(jobs::page(site, jobs.as_ref())),
        (Route::Jobs, _) => Some(jobs::page(site, None)),
        (Route::Compare, PageData::Compare(jobs)) => Some(job_comparison::page(site, jobs)),
        (Route::RemoteJob, _) => Some(remote_job::page(site)),
        (Route::Job(_), PageData::Job(job)) => Some(job::page(site, job)),
        (Route::Fleet, PageData::Fleet(fleet)) => Some(fleet::page(site, fleet.as_deref())),
        (Route::Approvals, PageData::Approvals(jobs)) => {
            Some(approvals::page(site, jobs.as_deref()))
        }
        (Route::History, PageData::History(history)) => {
            Some(job_history::page(site, history.as_ref()))
        }
        (
            Route::Approvals
            | Route::Compare
            | Route::Fleet
            | Route::History
            | Route::Job(_)
            | Route::NotFound,
            _,
        ) => None,
    };
    found.unwrap_or_else(|| not_found::page(site))
}
