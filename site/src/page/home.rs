//! The first page: who this is for, a measured result, a report, the four doors, and the reading paths.

use super::frame::Page;
use super::learn;
use crate::content::ReadingPath;
use crate::content::document::inline;
use crate::content::models::Run;
use crate::diff::DiffTable;
use crate::playground::lesson_fragment;
use crate::{Route, Site};
use hipward_analyzer::{Applicability, Language, Options, analyze, diff, fix_all};
use leptos::prelude::*;

/// A job whose start refuses AMD GPUs. The analyzer reports it on the page.
const JOB: &str = include_str!("home.py");

/// Steps of the result, cumulative: the run in the study `ablation`, and its label.
const STEPS: [(&str, &str); 4] = [
    ("none", "eager"),
    ("compile", "+\u{a0}torch.compile"),
    ("flash_attention compile", "+\u{a0}flash attention"),
    (
        "fused_qkv flash_attention compile",
        "+\u{a0}joined QKV projection",
    ),
];

pub(super) fn page(site: &Site) -> Page {
    let first = site.first_lesson();
    let start = first.as_ref().map(|route| {
        view! { <a class="button primary" href=site.href(route)>"Start with lesson one"</a> }
    });
    let main = view! {
        <div class="hero">
            <section>
                <h1>"PyTorch code, from NVIDIA‑only to fast on AMD"</h1>
                <p class="lead">
                    "For engineers who port PyTorch to AMD Instinct GPUs. Hipward finds the lines that break or are slow on ROCm, AMD's counterpart of CUDA, fixes them with your approval, and measures the result."
                </p>
                <p class="actions">
                    {start}
                    <a class="button" href=site.href(&Route::Playground)>"Check your code"</a>
                </p>
                <p class="hint">"No GPU, account or upload is needed to begin."</p>
            </section>
            {result(site)}
        </div>
        {report(site)}
        <section aria-labelledby="doors">
            <h2 id="doors">"Four ways in"</h2>
            <ul class="doors" role="list">{doors(site)}</ul>
        </section>
        {paths(site)}
        {learn::parts(site)}
    };
    Page {
        title: "Hipward: PyTorch code, from NVIDIA-only to fast on AMD".to_owned(),
        description: "Learn to port PyTorch code to ROCm, check your own code in the browser, and prove the result with a benchmark.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// A measured result: the time of one training step after each optimization.
fn result(site: &Site) -> Option<AnyView> {
    let study = site
        .ops
        .models
        .iter()
        .find(|study| study.name == "ablation")?;
    let comparison = study.comparisons.first()?;
    let step = |run: &Run| -> Option<[f64; 3]> {
        let figure = run.figure("step")?;
        Some([
            figure.value.parse().ok()?,
            figure.low.parse().ok()?,
            figure.high.parse().ok()?,
        ])
    };
    let times: Vec<(&str, [f64; 3])> = STEPS
        .iter()
        .filter_map(|(version, label)| {
            let run = comparison.runs.iter().find(|run| run.version == *version)?;
            Some((*label, step(run)?))
        })
        .collect();
    let (_, [eager, ..]) = *times.first()?;
    let bars: Vec<AnyView> = times
        .iter()
        .map(|(label, [median, low, high])| {
            let width = format!("width: {:.1}%", 100.0 * median / eager);
            let factor = format!("{:.2}×", eager / median);
            let interval = format!("95 % interval {low:.2} to {high:.2} ms");
            view! {
                <tr>
                    <th scope="row">{*label}</th>
                    <td class="bar"><span style=width></span></td>
                    <td class="number" title=interval>{format!("{median:.1} ms")}</td>
                    <td class="number strong">{factor}</td>
                </tr>
            }
            .into_any()
        })
        .collect();
    let device = study.rows.field(0, "device").to_owned();
    let setting = comparison.setting();
    Some(
        view! {
            <section class="result" aria-labelledby="result">
                <h2 id="result">"A training step, one optimization at a time"</h2>
                <table>
                    <thead class="visually-hidden">
                        <tr>
                            <th scope="col">"Step"</th>
                            <th scope="col">"Bar"</th>
                            <th scope="col">"Median time"</th>
                            <th scope="col">"Times as fast as eager"</th>
                        </tr>
                    </thead>
                    <tbody>{bars}</tbody>
                </table>
                <p class="hint">
                    "TinyLlama-like model, "{setting}", on one "{device}
                    ". Nothing has been measured on an AMD GPU yet. "
                    <a href=site.href(&Route::Models)>"All measurements"</a>
                </p>
            </section>
        }
        .into_any(),
    )
}

/// The report about a job that refuses AMD GPUs, and its fixes.
fn report(site: &Site) -> AnyView {
    let options = Options::default();
    let report = analyze(JOB, &options);
    let fixed = fix_all(JOB, &options, Applicability::Unsafe);
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
    let caption = format!(
        "The fixes to review, for {} (MI300X)",
        report.target.arch.name()
    );
    let changes = diff(JOB, &fixed.source);
    let fragment = lesson_fragment(JOB, Language::Python, None);
    let open = format!("{}#{fragment}", site.href(&Route::Playground));
    view! {
        <section class="sample" aria-labelledby="sample">
            <h2 id="sample">"A job that refuses working GPUs"</h2>
            <ul class="sample-findings">{findings}</ul>
            <DiffTable caption lines=changes />
            <p><a href=open>"Open this file in the playground"</a></p>
        </section>
    }
    .into_any()
}

/// The four doors. The last one links a lesson that only Hipward's own content has.
fn doors(site: &Site) -> Vec<AnyView> {
    let hosting = site.content.lesson_at("team/keep-it-ported");
    let hosting = hosting.map(|(part, lesson)| Route::lesson(part, lesson));
    let doors = [
        (
            "Learn",
            "Lessons in the order of the work, with exercises that are judged by running your code.",
            Some((Route::Learn, "All lessons")),
        ),
        (
            "Check",
            "Paste a file or drop a whole folder. The analyzer runs in your browser; the code stays there.",
            Some((Route::Playground, "Playground")),
        ),
        (
            "Prove",
            "Send the result to a runner on a GPU or a CPU. It compares eager and optimized code, precision first.",
            Some((Route::Benchmark, "Benchmark")),
        ),
        (
            "Host it",
            "One program with your own lessons, rules and machines, inside your network.",
            hosting.map(|route| (route, "How a team uses it")),
        ),
    ];
    doors
        .into_iter()
        .map(|(title, text, link)| {
            let link = link.map(|(route, label)| view! { <a href=site.href(&route)>{label}</a> });
            view! { <li><h3>{title}</h3><p>{text}</p>{link}</li> }.into_any()
        })
        .collect()
}

/// The reading paths that have pages.
fn paths(site: &Site) -> Option<AnyView> {
    let paths: Vec<AnyView> = ReadingPath::ALL
        .into_iter()
        .filter(|path| site.content.is_on(*path))
        .map(|path| {
            view! {
                <li>
                    <h3><a href=site.href(&Route::ReadingPath(path))>{path.title()}</a></h3>
                    <p>{path.summary()}</p>
                </li>
            }
            .into_any()
        })
        .collect();
    (!paths.is_empty()).then(|| {
        view! {
            <section aria-labelledby="paths">
                <h2 id="paths">"Three reading paths"</h2>
                <ul class="doors" role="list">{paths}</ul>
            </section>
        }
        .into_any()
    })
}
