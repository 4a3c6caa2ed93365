//! Stepping through the run: the controls, the listing, and the state after the current instruction.

use super::calls::Target;
use super::inputs::choice;
use super::panels::{access, lanes, lds, registers, wavefronts};
use super::state::State;
use crate::isa::listing::numbered_lines;
use gloo_timers::callback::Timeout;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

const FORMATS: [(&str, &str); 6] = [
    ("hex", "hexadecimal"),
    ("f32", "f32"),
    ("i32", "i32"),
    ("u32", "u32"),
    ("f16", "two f16"),
    ("bf16", "two bf16"),
];

/// A button: its title, its keys, and where it moves.
type Move = (&'static str, &'static str, fn(State) -> Target);

const MOVES: [Move; 5] = [
    ("First", "Home", |_| Target::Position(1)),
    ("Back", "ArrowLeft ArrowUp", |state| {
        Target::Position(state.position().saturating_sub(1).max(1))
    }),
    ("Step", "ArrowRight ArrowDown", |state| {
        Target::Position(state.position() + 1)
    }),
    ("Next wavefront", "PageDown", |_| Target::NextWavefront),
    ("Last", "End", |_| Target::End),
];

/// Moves by a key in the listing or on a button. In a field, the keys are the field's.
fn move_by_key(state: State, event: &KeyboardEvent) {
    let in_field = event
        .target()
        .is_some_and(|target| target.has_type::<web_sys::HtmlInputElement>());
    if in_field || event.ctrl_key() || event.meta_key() || event.alt_key() || event.shift_key() {
        return;
    }
    let key = event.key();
    let found = MOVES
        .iter()
        .find(|(_, keys, _)| keys.split(' ').any(|one| one == key));
    if let Some((_, _, to)) = found {
        // Otherwise the page or the listing would scroll.
        event.prevent_default();
        state.go(to(state));
    }
}

pub(super) fn stepping(state: State) -> Option<AnyView> {
    let total = state.end.with(|end| Some(end.as_ref()?.position))?;
    let buttons: Vec<AnyView> = MOVES
        .iter()
        .map(|(title, keys, to)| {
            view! {
                <button type="button" aria-keyshortcuts=*keys on:click=move |_| state.go(to(state))>
                    {*title}
                </button>
            }
            .into_any()
        })
        .collect();
    let formats = choice(
        "Registers as".to_owned(),
        &FORMATS,
        &state.registers_as.get_untracked(),
        move |value| {
            state.registers_as.set(value);
            state.refresh();
        },
    );
    let view = view! {
        <h3>"Instruction by instruction"</h3>
        <div class="actions stepper" on:keydown=move |event| move_by_key(state, &event)>
            {buttons}
            <label>
                "Run to line "
                <input
                    type="number"
                    min="1"
                    autocomplete="off"
                    on:change=move |event| {
                        if let Ok(line) = event_target_value(&event).parse() {
                            state.go(Target::Line(line));
                        }
                    }
                />
            </label>
        </div>
        <input
            type="range"
            class="position"
            aria-label="Instruction"
            autocomplete="off"
            min="1"
            max=total.to_string()
            prop:value=move || state.view.with(|view| view.as_ref().map_or(1, |view| view.position)).to_string()
            on:input=move |event| {
                if let Ok(position) = event_target_value(&event).parse() {
                    state.go(Target::Position(position));
                }
            }
        />
        <p role="status" data-region="step">
            {move || status(state, total)}
        </p>
        <div class="panes">
            <div class="pane">{listing(state)}</div>
            <div class="pane">
                <div class="fields-line">
                    <label>"Registers as " {formats}</label>
                    <label>
                        "Also show register "
                        <input
                            type="text"
                            size="6"
                            placeholder="v0"
                            autocomplete="off"
                            spellcheck="false"
                            on:change=move |event| {
                                state.watched.set(event_target_value(&event));
                                state.refresh();
                            }
                        />
                    </label>
                </div>
                {move || state.view.with(|view| view.as_ref().map(lanes))}
                {move || state.view.with(|view| view.as_ref().and_then(|view| view.access.as_ref()).map(access))}
                {move || state.view.with(|view| view.as_ref().map(registers))}
                {move || {
                    state
                        .view
                        .with(|view| view.as_ref().and_then(|view| view.lds.as_ref()).map(|shown| lds(state, shown)))
                }}
                {move || state.view.with(|view| view.as_ref().map(wavefronts))}
            </div>
        </div>
    };
    Some(view.into_any())
}

fn status(state: State, total: u64) -> Option<String> {
    state.view.with(|view| {
        let view = view.as_ref()?;
        let [x, y, z] = view.workgroup;
        let active = view.active.iter().filter(|active| **active).count();
        let place = match view.line {
            Some(line) => format!("line {line}"),
            None => "before the first instruction".to_owned(),
        };
        let code = state.kernel.with_untracked(|kernel| {
            let text = kernel.as_ref()?.listing.lines().nth(view.line?.checked_sub(1)?)?;
            let code = text.split(';').next()?.split_whitespace();
            Some(code.collect::<Vec<_>>().join(" "))
        });
        Some(format!(
            "Instruction {} of {total}, {place}. Wavefront {} of workgroup {x}, {y}, {z}; {active} of 64 lanes are active. {}",
            view.position,
            view.wavefront,
            code.unwrap_or_default(),
        ))
    })
}

/// The listing, in which the current instruction is marked. A click on an instruction runs to it.
fn listing(state: State) -> Option<AnyView> {
    let kernel = state.kernel.get_untracked()?;
    let current = Memo::new(move |_| {
        state
            .view
            .with(|view| view.as_ref().and_then(|view| view.line))
    });
    Effect::new(move || {
        current.track();
        // After the mark has moved.
        Timeout::new(0, scroll_to_mark).forget();
    });
    let lines: Vec<AnyView> = numbered_lines(&kernel.listing, &kernel.lines, &kernel.source)
        .into_iter()
        .map(|line| {
            let number = line.number;
            let is_source = line.class == "source";
            let text = if is_source || line.class == "label" {
                line.text
            } else {
                format!("{number:>4}  {}", line.text.trim_start())
            };
            let mark = move || (!is_source && current.get() == Some(number)).then_some("step");
            view! {
                <span class=line.class data-line=number.to_string() aria-current=mark>
                    {text}
                </span>
            }
            .into_any()
        })
        .collect();
    let on_click = move |event: leptos::ev::MouseEvent| {
        let target = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let line = target
            .and_then(|target| target.closest("[data-line]").ok().flatten())
            .and_then(|line| line.get_attribute("data-line"))
            .and_then(|line| line.parse().ok());
        if let Some(line) = line {
            state.go(Target::Line(line));
        }
    };
    let view = view! {
        <p class="hint" id="listing-keys">
            "A click on an instruction or a source line runs to it. Keys in the listing: arrows step forward and back, Page Down goes to the next wavefront, Home and End to the first and the last instruction."
        </p>
        <pre
            class="listing"
            tabindex="0"
            aria-label="Instructions"
            aria-describedby="listing-keys"
            on:click=on_click
            on:keydown=move |event| move_by_key(state, &event)
        ><code>{lines}</code></pre>
    };
    Some(view.into_any())
}

/// Scrolls the listing to the current instruction.
fn scroll_to_mark() {
    let found = document().query_selector("[data-explorer] [aria-current=step]");
    let Some(mark) = found
        .ok()
        .flatten()
        .and_then(|mark| mark.dyn_into::<web_sys::HtmlElement>().ok())
    else {
        return;
    };
    if let Ok(Some(listing)) = mark.closest(".listing") {
        listing.set_scroll_top(mark.offset_top() - listing.client_height() / 2);
    }
}
