//! Runs a kernel's machine code in the browser, in the emulator of `kernels/emulator`, instruction by instruction.
//!
//! The module of the emulator and the recorded launches are fetched when a kernel is run for the first time.

mod calls;
mod inputs;
mod launch;
mod panels;
mod results;
mod state;
mod stepping;

use crate::isa::answer::Answer;
use leptos::prelude::*;
use leptos::task::spawn_local;
use state::State;

#[cfg(feature = "ssr")]
pub(crate) use launch::{LAUNCHES, Launches};

/// Figures of a GPU for lower bounds: architecture, product, TB/s of the memory, SIMDs.
pub(crate) type Gpu = (String, String, f64, u32);

/// The explorer. `examples` are recorded launches with name, title and description; `answer` is the compiler's answer to the
/// reader's source, with that source.
#[component]
pub(super) fn Explorer(
    base: String,
    examples: Vec<(String, String, String)>,
    gpus: Vec<Gpu>,
    answer: RwSignal<Option<(Answer, String)>>,
) -> impl IntoView {
    let state = State::new(base, examples.first().map(|(name, ..)| name.clone()));
    let own = Memo::new(move |_| answer.with(|answer| launch::own_kernels(answer.as_ref())));
    // A new answer replaces the kernels of the one before.
    Effect::new(move || {
        let own = own.get();
        if let Some(kernel) = own.first() {
            state.choose(kernel.name.clone());
        } else if state.choice.get_untracked().starts_with(launch::OWN) {
            state.choose(String::new());
        }
    });
    let options: Vec<_> = examples
        .iter()
        .map(|(name, title, _)| view! { <option value=name.clone()>{title.clone()}</option> })
        .collect();
    let own_options = move || {
        let options = own.get().into_iter();
        options
            .map(|kernel| view! { <option value=kernel.name.clone()>{kernel.title.clone()}</option> })
            .collect::<Vec<_>>()
    };
    let about = move || {
        let choice = state.choice.get();
        let found = examples.iter().find(|(name, ..)| *name == choice);
        found.map(|(_, _, about)| about.clone())
    };
    let on_run = move |_| {
        let own = own.get_untracked();
        spawn_local(async move { state.run(&own).await });
    };
    view! {
        <section class="needs-js" aria-labelledby="run" data-explorer>
            <h2 id="run">"Run it"</h2>
            <p>
                "The machine code runs in this browser, in an emulator that executes AMD’s instructions one by one and checks each memory access. It measures no time."
            </p>
            <p class="run-choice">
                <label>
                    "Kernel to run "
                    <select
                        autocomplete="off"
                        prop:value=move || state.choice.get()
                        on:change=move |event| state.choose(event_target_value(&event))
                    >
                        {options}
                        {own_options}
                    </select>
                </label>
                <button type="button" class="primary" on:click=on_run>
                    "Run"
                </button>
            </p>
            <p class="hint">{about}</p>
            <div class="trouble" role="alert">
                // An empty text would be rendered as a space.
                {move || Some(state.error.get()).filter(|error| !error.is_empty())}
            </div>
            {move || inputs::inputs(state)}
            {move || results::results(state, &gpus)}
            {move || stepping::stepping(state)}
        </section>
    }
}
