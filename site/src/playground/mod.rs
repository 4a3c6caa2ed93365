//! The playground: paste code, see findings for ROCm, apply fixes, compare, and send it to a benchmark.
//!
//! `document.rs` is the text in the editor, `state.rs` the signals that the page shows, `session/` the actions that change
//! them. `editor.rs`, `analyzer.rs` and `folder.rs` are the parts of the browser that an action needs: the editor, the
//! analyzer's worker, and an open folder. The other modules are components. `fragment.rs` reads and writes the part of the
//! address after `#`.

mod analyzer;
mod benchmark;
mod changes;
mod document;
mod editor;
mod findings;
mod folder;
mod fragment;
mod project;
mod session;
mod state;
mod summary;
mod task;
mod toolbar;

use crate::browser::client_only::client_only;
use crate::code_area::CodeArea;
use crate::inline_code::inline_code;
use benchmark::BenchmarkPanel;
use changes::Changes;
use findings::Findings;
use leptos::ev;
use leptos::prelude::*;
use project::{ProjectPanel, ProjectState};
use session::Session;
use summary::Summary;
use task::TaskPanel;
use toolbar::Toolbar;

#[cfg(feature = "ssr")]
pub(crate) use {fragment::ExerciseLink, fragment::lesson_fragment, summary::rule_counts};

/// The example in the editor: a small transformer block with typical code for NVIDIA GPUs. It is complete enough to be
/// benchmarked. The browser does not need it: it is in the page.
pub(crate) const EXAMPLE: &str = if cfg!(feature = "ssr") {
    include_str!("example.py")
} else {
    ""
};

/// The whole playground. Without a script it is a text area with an example.
///
/// It has no properties: those would be parsed from JSON in Rust, which would add a parser to its module.
#[island]
pub(crate) fn Playground() -> impl IntoView {
    let session = Session::new();
    provide_context(session);
    let state = session.state;
    // In the browser only, once the elements are there.
    Effect::new(move || session.start());
    let on_paste = move |event: ev::ClipboardEvent| session.check_paste(&event);
    view! {
        <div
            id="playground"
            class="playground"
            data-editor=move || session.editor.kind()
            on:keydown=move |event| session.key(&event)
            on:paste:capture=on_paste
        >
            <div data-region="task" role="status">
                <TaskPanel />
            </div>
            <Toolbar />
            <div data-region="notice" role="status">
                <Message text=state.notice />
                <Unopened address=state.unopened />
            </div>
            <div data-region="project-state" role="status" class="visually-hidden">
                <ProjectState />
            </div>
            <div data-region="project">
                <ProjectPanel />
            </div>
            <div class="panes">
                <EditorPane session />
                <ReportPane session />
            </div>
            <div data-region="changes">
                <Changes />
            </div>
        </div>
    }
}

#[component]
fn EditorPane(session: Session) -> impl IntoView {
    let on_input = Callback::new(move |text| session.edit(text));
    view! {
        <div class="pane">
            <label for="code" class="visually-hidden">
                "Code to check"
            </label>
            <CodeArea text=EXAMPLE.to_owned() described_by="editor-help" node=session.editor.area on_input />
            <div data-region="applied" role="status">
                <AppliedChange session />
            </div>
            <p id="editor-help" class="hint needs-js">
                "Tab indents; press Esc, then Tab, to leave the editor. F8 goes to the next finding, Ctrl-F searches. Files or a whole folder can be dropped here."
            </p>
        </div>
    }
}

/// The last change by fixes, with a button that undoes it.
#[component]
fn AppliedChange(session: Session) -> impl IntoView {
    move || {
        session.state.applied.with(|applied| {
            (!applied.is_empty()).then(|| {
                client_only(view! {
                                    <p class="actions">
                                        <span>{inline_code(applied)}</span>
                                        <button type="button" on:click=move |_| session.undo()>
                                            "Undo"
                                        </button>
                                        <small>"Ctrl-Z"</small>
                                    </p>
                })
            })
        })
    }
}

#[component]
fn ReportPane(session: Session) -> impl IntoView {
    view! {
        <div class="pane needs-js">
            <div data-region="summary" role="status">
                <Summary />
            </div>
            <div data-region="trouble" role="alert">
                <Message text=session.state.error />
            </div>
            <div data-region="findings">
                <Findings />
            </div>
            <div data-region="contract">
                <BenchmarkPanel />
            </div>
        </div>
    }
}

/// A sentence, or nothing for an empty text.
#[component]
fn Message(text: RwSignal<String>) -> impl IntoView {
    move || {
        text.with(|text| {
            (!text.is_empty()).then(|| client_only(view! { <p>{inline_code(text)}</p> }))
        })
    }
}

/// A link to a page that a click has to open.
#[component]
fn Unopened(address: RwSignal<String>) -> impl IntoView {
    move || {
        let address = address.get();
        (!address.is_empty()).then(|| {
            client_only(view! {
                <p>
                    "The browser blocked a new tab. "
                    <a href=address target="_blank">
                        "Open the page in a new tab"
                    </a>
                    "; your folder stays open here."
                </p>
            })
        })
    }
}

/// `1 file`, `2 files`, `2 fixes`.
fn counted(count: usize, word: &str) -> String {
    let plural = match word.ends_with('x') {
        true => "es",
        false => "s",
    };
    format!("{count} {word}{}", if count == 1 { "" } else { plural })
}
