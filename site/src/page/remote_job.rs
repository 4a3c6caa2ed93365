//! The page for a job of another runner. The fragment of its address names the runner and the job; js/remote-job.js fills in the
//! title, the links and the code, and the [`JobLive`] island renders the result from the runner's events.

use super::frame::Page;
use crate::job::{DOWNLOADS, JobLive, Served};
use crate::{Route, Site};
use hipward_protocol::JobView;
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    let main = view! {
        <h1 data-remote-title>"Benchmark"</h1>
        <p data-no-remote-job>
            "This page shows a job of another runner. Its address names the runner and the job: open it from the list of "
            <a href=site.href(&Route::Jobs)>"jobs"</a>
            "."
        </p>
        <noscript>
            <p class="admonition note">"The page needs JavaScript to request the job from its runner."</p>
        </noscript>
        <div data-remote-job hidden>
            <JobLive view=Served::Job(JobView::default()) api=None />
            <section aria-labelledby="keep">
                <h2 id="keep">"Keep it"</h2>
                <p class="actions">
                    <span id=DOWNLOADS class="actions" hidden>
                        <a class="button" data-remote="report.md" download="benchmark.md">"Download benchmark.md"</a>
                        <a class="button" data-remote="report.json" download="benchmark.json">"Download JSON"</a>
                    </span>
                    <button type="button" data-remote-again>"Run it again"</button>
                    <a class="button" href=site.href(&Route::Jobs)>"List of jobs"</a>
                    <button type="button" data-copy-address="whole">"Copy the permalink"</button>
                </p>
                <dl class="facts">
                    <div><dt>"Runner"</dt><dd><a data-remote-page></a></dd></div>
                    <div><dt>"Job"</dt><dd><code data-remote-id></code></dd></div>
                    <div><dt>"Submitted"</dt><dd><time data-remote-time></time></dd></div>
                </dl>
            </section>
            <section aria-labelledby="snippet">
                <h2 id="snippet">"Code"</h2>
                <pre tabindex="0"><code data-remote-code></code></pre>
            </section>
        </div>
    };
    Page {
        title: "Benchmark".to_owned(),
        description: "Precision, timings and conditions of one benchmark on another runner."
            .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}
