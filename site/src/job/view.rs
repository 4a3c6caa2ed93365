//! The result of a job as components. The server renders them once for a job that has ended; for one that goes on, the
//! `JobLive` island hydrates them and updates them with each event.

use super::conditions::conditions;
use super::plot::plot;
use super::roofline::{cautions, parts, sentence as floor_sentence};
use super::status::{sentence, state_word};
use super::table::variants_table;
use crate::format::number;
use crate::inline_code::inline_code;
use hipward_protocol::{Advice, JobState, JobView, LogStream, VariantView};
use leptos::prelude::*;

/// Everything about a job that changes while it runs: state, table, plot, conditions and output.
///
/// `on_cancel` is called by the button of a job that has not ended.
#[component]
pub(crate) fn JobResult(view: Signal<JobView>, on_cancel: Callback<()>) -> impl IntoView {
    // A region is a pure function of the view. Its elements stay in the page while it is updated, so an open `details`
    // stays open.
    let region = move |draw: fn(&JobView) -> AnyView| move || view.with(draw);
    view! {
        <div data-region="state" role="status">{region(state)}</div>
        <div data-region="remaining">{region(remaining)}</div>
        <div data-region="cancel">
            <Show when=move || view.with(|view| !view.state.is_final())>
                <CancelButton on_cancel />
            </Show>
        </div>
        <div data-region="failure">{region(failure)}</div>
        <div data-region="variants">{region(variants_table)}</div>
        <div data-region="floor">{region(floor)}</div>
        <div data-region="plot">{region(plot)}</div>
        <div data-region="statistics">{region(statistics)}</div>
        <div data-region="conditions">{region(conditions_list)}</div>
        <div data-region="output">{region(output)}</div>
    }
}

#[component]
fn CancelButton(on_cancel: Callback<()>) -> impl IntoView {
    view! {
        <p class="needs-js">
            <button type="button" id="cancel" on:click=move |_| on_cancel.run(())>
                "Cancel this job"
            </button>
        </p>
    }
}

/// Announced by a screen reader when it changes, so it does not change with every sample.
fn state(view: &JobView) -> AnyView {
    let word = state_word(view.state);
    view! {
        <p class="job-state">
            <strong class="badge" data-state=word>{word}</strong>
            " "
            {inline_code(&sentence(view))}
        </p>
    }
    .into_any()
}

/// The variants that a running job has not finished. The live page adds the time (`live.rs`).
fn remaining(view: &JobView) -> AnyView {
    let names: Vec<&str> = view
        .pending()
        .map(|variant| variant.label.as_str())
        .collect();
    if view.state != JobState::Running || names.is_empty() {
        return ().into_any();
    }
    view! { <p class="hint">"Not finished: "{names.join(", ")}"."</p> }.into_any()
}

fn failure(view: &JobView) -> AnyView {
    let Some(failure) = view.failure.clone() else {
        return ().into_any();
    };
    let traceback = failure.traceback.map(|traceback| {
        view! {
            <details open>
                <summary>"End of the traceback"</summary>
                <pre tabindex="0">{traceback}</pre>
            </details>
        }
    });
    view! {
        <section class="failure" aria-labelledby="failure">
            <h2 id="failure">"What to do"</h2>
            <p>{inline_code(&failure.help)}</p>
            {traceback}
        </section>
    }
    .into_any()
}

/// Cautions, and the floor with the figures it is computed from.
fn floor(view: &JobView) -> AnyView {
    let cautions: Vec<_> = cautions(view)
        .into_iter()
        .map(|caution| view! { <p class="report-note">{caution}</p> })
        .collect();
    let floor = view.roofline.as_ref().map(|floor| {
        let parts = parts(floor)
            .into_iter()
            .map(|(name, value)| fact(name, value));
        view! {
            <details class="floor">
                <summary>{floor_sentence(floor)}</summary>
                <dl class="facts">{parts.collect::<Vec<_>>()}</dl>
            </details>
        }
    });
    view! {
        {cautions}
        {floor}
    }
    .into_any()
}

/// One entry of a `dl.facts`.
pub(super) fn fact(name: &'static str, value: String) -> impl IntoView + use<> {
    view! { <div><dt>{name}</dt><dd>{value}</dd></div> }
}

/// The figures of the plot as a table.
fn statistics(view: &JobView) -> AnyView {
    let rows: Vec<_> = view
        .variants
        .iter()
        .filter_map(|row| statistics_row(view, row))
        .collect();
    if rows.is_empty() {
        return ().into_any();
    }
    view! {
        <details>
            <summary>"The plot as a table"</summary>
            <div class="scroll" tabindex="0" role="group" aria-label="Statistics">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Milliseconds per call"</th>
                            <th scope="col">"Samples"</th>
                            <th scope="col">"Min"</th>
                            <th scope="col">"5 %"</th>
                            <th scope="col">"20 %"</th>
                            <th scope="col">"Median"</th>
                            <th scope="col">"Mean"</th>
                            <th scope="col">"80 %"</th>
                            <th scope="col">"95 %"</th>
                            <th scope="col">"Max"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

fn statistics_row(view: &JobView, row: &VariantView) -> Option<AnyView> {
    let stats = row.stats.as_ref()?;
    let figures = [
        stats.min,
        stats.p5,
        stats.p20,
        stats.median,
        stats.mean,
        stats.p80,
        stats.p95,
        stats.max,
    ];
    let figures = std::iter::once(stats.n.to_string()).chain(figures.map(number));
    let cells: Vec<_> = figures
        .map(|figure| view! { <td class="number">{figure}</td> })
        .collect();
    let label = view.label(&row.variant).to_owned();
    Some(view! { <tr><th scope="row">{label}</th>{cells}</tr> }.into_any())
}

fn conditions_list(view: &JobView) -> AnyView {
    let Some(environment) = &view.environment else {
        return ().into_any();
    };
    let facts: Vec<_> = conditions(view)
        .into_iter()
        .map(|(name, value)| fact(name, value))
        .collect();
    let audit = (!environment.audit.is_empty()).then(|| {
        let count = environment.audit.len().to_string();
        let advice: Vec<_> = environment.audit.iter().map(advice).collect();
        view! {
            <details>
                <summary>"Settings of this host that cost time: " {count}</summary>
                <dl class="facts">{advice}</dl>
            </details>
        }
    });
    view! {
        <section aria-labelledby="conditions">
            <h2 id="conditions">"Conditions"</h2>
            <dl class="facts">{facts}</dl>
            {audit}
        </section>
    }
    .into_any()
}

fn advice(advice: &Advice) -> impl IntoView + use<> {
    view! {
        <div>
            <dt><code>{advice.setting.clone()}</code></dt>
            <dd>
                "Found: " {advice.found.clone()} ". " {inline_code(&advice.why)} " "
                <code>{advice.command.clone()}</code>
            </dd>
        </div>
    }
}

fn output(view: &JobView) -> AnyView {
    if view.log.is_empty() {
        return ().into_any();
    }
    let pieces: Vec<_> = view
        .log
        .iter()
        .map(|(stream, text)| {
            let class = match stream {
                LogStream::Stdout => "stdout",
                LogStream::Stderr => "stderr",
                LogStream::Runner => "runner",
            };
            view! { <span class=class>{text.clone()}</span> }
        })
        .collect();
    view! {
        <section aria-labelledby="output">
            <h2 id="output">"Output"</h2>
            <pre class="log" tabindex="0">{pieces}</pre>
        </section>
    }
    .into_any()
}
