//! The button that starts a benchmark, or the parts that the code lacks for one; the link to the machine code, and the panel
//! that executes it in the emulator (site/js/run-kernel.js).

use super::session::Session;
use super::state::{Runner, State};
use super::summary::was_read;
use crate::browser::{client_only::client_only, script};
use crate::inline_code::inline_code;
use hipward_analyzer_core::{Contract, Language};
use leptos::html::Div;
use leptos::prelude::*;
use leptos::task::spawn_local;

#[component]
pub(super) fn BenchmarkPanel() -> impl IntoView {
    let session = expect_context::<Session>();
    let state = session.state;
    let machine_code = move || {
        let language = kernel_language(&state)?;
        let view = view! {
            <p>
                <button type="button" id="isa" on:click=move |_| session.show_machine_code(language)>
                    "See the machine code"
                </button>
                " "
                <small>"of this kernel on an AMD GPU"</small>
            </p>
        };
        Some(client_only(view))
    };
    let benchmark = move || {
        let contract = state.report.with(|report| {
            let report = report.as_ref()?;
            (report.language == Language::Python && was_read(report))
                .then(|| report.contract.clone())
        })?;
        let body = match contract.is_complete() {
            true => start_button(session),
            false => missing_parts(session, &contract),
        };
        let view = view! {
            <section class="contract" aria-labelledby="contract">
                <h2 id="contract">"Benchmark"</h2>
                {body}
            </section>
        };
        Some(client_only(view))
    };
    let run = NodeRef::<Div>::new();
    let is_shown = StoredValue::new(false);
    Effect::new(move |_| {
        let Some(region) = run.get() else { return };
        let source = runnable_kernel(&state);
        // Its script is loaded with the first kernel.
        if source.is_none() && !is_shown.get_value() {
            return;
        }
        is_shown.set_value(true);
        let arch = state.target.with_untracked(|target| target.arch.name());
        spawn_local(async move {
            let source = source.unwrap_or_default();
            if let Err(error) = script::show_run(&region, &source, arch).await {
                state.fail(script::message(&error));
            }
        });
    });
    view! {
        {machine_code}
        {benchmark}
        <div data-region="run" node_ref=run></div>
    }
}

/// The text, if it has a kernel in CUDA or HIP.
fn runnable_kernel(state: &State) -> Option<String> {
    let is_cuda = state.report.with(|report| {
        report
            .as_ref()
            .is_some_and(|report| report.language == Language::CudaCpp)
    });
    state.document.with(|document| {
        (is_cuda && document.text.contains("__global__")).then(|| document.text.clone())
    })
}

/// `triton` or `hip` for a text that the page for machine code can compile.
fn kernel_language(state: &State) -> Option<&'static str> {
    let language = state
        .report
        .with(|report| report.as_ref().map(|report| report.language))?;
    state.document.with(|document| match language {
        Language::Python if document.text.contains("triton.jit") => Some("triton"),
        Language::CudaCpp if document.text.contains("hip/hip_runtime.h") => Some("hip"),
        _ => None,
    })
}

fn start_button(session: Session) -> AnyView {
    let runner = session.state.runner;
    let name = session.state.runner_name;
    let choice = move || {
        let name = name.get();
        let href = format!("{}benchmark/", session.base.get_value());
        (!name.is_empty()).then(|| {
            client_only(view! {
                " Runner: "
                {name}
                ". "
                <a href=href>"Choose another"</a>
            })
        })
    };
    let hint = move || {
        inline_code(match runner.get() {
            Runner::Unknown => "Looking for a runner.",
            Runner::Absent if !name.get().is_empty() => {
                "The runner does not answer, or it does not allow pages of this site (`hipward serve --allow-origin`)."
            }
            Runner::Absent => {
                "This copy of the site has no runner. Run `hipward serve` on a machine with PyTorch, and open the playground there."
            }
            Runner::NotReady => "The runner is not ready; the benchmark page lists what it lacks.",
            Runner::Ready => {
                "Checks precision first, then times eager against the optimized variants."
            }
            Runner::Sending => "Sending the code.",
        })
    };
    client_only(view! {
        <p>
            <button
                type="button"
                id="benchmark"
                class="primary"
                disabled=move || runner.get() != Runner::Ready
                on:click=move |_| session.benchmark()
            >
                "Benchmark this"
            </button>
        </p>
        <p class="hint">{hint}{choice}</p>
    })
}

fn missing_parts(session: Session, contract: &Contract) -> AnyView {
    let parts = [
        (
            contract.model,
            "`class Model(nn.Module)`, the model to measure",
        ),
        (
            contract.get_inputs,
            "`def get_inputs()`, a list of arguments for `forward`",
        ),
        (
            contract.get_init_inputs,
            "`def get_init_inputs()`, a list of arguments for `Model`",
        ),
    ];
    let missing: Vec<_> = parts
        .into_iter()
        .filter(|(exists, _)| !exists)
        .map(|(_, part)| view! { <li>{inline_code(part)}</li> })
        .collect();
    client_only(view! {
        <p>"To be benchmarked, the code must also have:"</p>
        <ul>{missing}</ul>
        <p>
            <button type="button" id="skeleton" on:click=move |_| session.add_skeleton()>
                "Add a skeleton"
            </button>
        </p>
    })
}
