//! The first page: what this is, the four doors, the workflow, and a real finding.

use super::frame::Page;
use super::learn;
use crate::content::document::inline;
use crate::diff::DiffTable;
use crate::playground::EXAMPLE;
use crate::{Route, Site};
use hipward_analyzer::{Applicability, Options, analyze, diff, fix_all};
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    let first = site.first_lesson();
    let start = first.as_ref().map(|route| {
        view! { <a class="button primary" href=site.href(route)>"Start with lesson one"</a> }
    });
    let hosting = site.content.lesson_at("team/keep-it-ported");
    let hosting = hosting.map(|(part, lesson)| Route::lesson(part, lesson));
    let main = view! {
        <section class="hero">
            <h1>"PyTorch code, from NVIDIA‑only to fast on AMD"</h1>
            <p class="lead">
                "Hipward shows what in your code breaks or crawls on ROCm, why, and what to write instead. Then it proves the result: precision first, and timings with their conditions."
            </p>
            <p class="actions">
                {start}
                <a class="button" href=site.href(&Route::Playground)>"Check your code"</a>
            </p>
        </section>
        {sample(site)}
        <section aria-labelledby="workflow">
            <h2 id="workflow">"The workflow"</h2>
            <ol class="workflow" role="list">
                <li><strong>"Port"</strong>" Make it run: devices, libraries, environment, version gates."</li>
                <li><strong>"Baseline"</strong>" Know what it computes and how long that takes, before changing it."</li>
                <li><strong>"Optimize"</strong>" One step at a time: compile, fuse, route."</li>
                <li><strong>"Re-benchmark"</strong>" Same precision gate, same conditions, an honest interval."</li>
            </ol>
        </section>
        <section aria-labelledby="doors">
            <h2 id="doors">"Four ways in"</h2>
            <ul class="doors" role="list">
                <li>
                    <h3>"Learn"</h3>
                    <p>"Lessons in the order of the work, with code that is run by tests."</p>
                    <a href=site.href(&Route::Learn)>"All lessons"</a>
                </li>
                <li>
                    <h3>"Check"</h3>
                    <p>"Paste a file or drop a whole folder. The analyzer runs in your browser; the code stays there."</p>
                    <a href=site.href(&Route::Playground)>"Playground"</a>
                </li>
                <li>
                    <h3>"Prove"</h3>
                    <p>"Send the result to a runner on a GPU or a processor, and watch it being measured."</p>
                    <a href=site.href(&Route::Benchmark)>"Benchmark"</a>
                </li>
                <li>
                    <h3>"Host it"</h3>
                    <p>"One program with your own lessons, rules and machines, inside your network: "<code>"hipward serve --content lessons --rules rules"</code></p>
                    {hosting.map(|route| view! { <a href=site.href(&route)>"How a team uses it"</a> })}
                </li>
            </ul>
        </section>
        {learn::parts(site)}
    };
    Page {
        title: "Hipward: PyTorch code, from NVIDIA-only to fast on AMD".to_owned(),
        description: "Learn to port PyTorch code to ROCm, check your own code in the browser, and prove the result with a benchmark.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// The playground's example before and after its safe fixes, by the analyzer itself.
fn sample(site: &Site) -> AnyView {
    let options = Options::default();
    let report = analyze(EXAMPLE, &options);
    let fixed = fix_all(EXAMPLE, &options, Applicability::Safe);
    let findings: Vec<AnyView> = report
        .findings
        .iter()
        .map(|finding| {
            let rule = site.href(&Route::Rule(finding.rule.clone()));
            view! {
                <li>
                    <a href=rule>{finding.rule.clone()}</a>
                    " "
                    <span inner_html=inline(&finding.message, site.base())></span>
                </li>
            }
            .into_any()
        })
        .collect();
    let caption = format!("The safe fixes, for {}", report.target.arch.name());
    let changes = diff(EXAMPLE, &fixed.source);
    view! {
        <section class="sample" aria-labelledby="sample">
            <h2 id="sample">"The report about a real file"</h2>
            <ul class="sample-findings">{findings}</ul>
            <DiffTable caption lines=changes />
            <p><a href=site.href(&Route::Playground)>"Open this example in the playground"</a></p>
        </section>
    }
    .into_any()
}
