//! The actions of the playground. Each changes signals of [`State`]; the components show the result. Here are those on the
//! text, the target and the language.

mod analysis;
mod files;
mod first_text;
mod fixes;
mod pages;

use super::editor::Editor;
use super::findings;
use super::folder::{self, Folder};
use super::state::{Runner, State};
use crate::browser::focus::{self, keep_focus};
use crate::browser::{api, location, script, storage};
use gloo_events::{EventListener, EventListenerOptions};
use hipward_analyzer_core::{Language, Target};
use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;

/// Maximum size of a text, bytes. The same as in site/js/files.js.
const TEXT_LIMIT: usize = 2 << 20;
/// Milliseconds between two times at which the text is stored, and without an edit before it is analyzed if that takes longer
/// than [`FAST`].
const DEBOUNCE: u32 = 200;
/// Milliseconds of an analysis that does not delay typing: the next edit is analyzed at once.
const FAST: f64 = 50.0;
const PLAIN_KEY: &str = "playground.plain";

/// The playground of a page.
#[derive(Clone, Copy)]
pub(super) struct Session {
    pub(super) state: State,
    pub(super) editor: Editor,
    /// The address of the site.
    pub(super) base: StoredValue<String>,
    /// The address of the runner for benchmarks; empty until it is chosen.
    runner: StoredValue<String>,
    folder: StoredValue<Option<Folder>, LocalStorage>,
    /// Counts changes of text, target and language; an answer about an older one is dropped.
    generation: StoredValue<u64>,
    /// Whether to scroll to the editor when the text of a file of the folder arrives.
    reveals: StoredValue<bool>,
    /// The text before the last change by fixes.
    before_fix: StoredValue<String>,
    /// Whether the next edit is a paste.
    pastes: StoredValue<bool>,
    /// Milliseconds from the newest request for an analysis to its answer.
    duration: StoredValue<f64>,
    /// When the text was stored, milliseconds.
    stored: StoredValue<f64>,
}

impl Session {
    pub(super) fn new() -> Self {
        Session {
            state: State::new(),
            editor: Editor::new(),
            base: StoredValue::new(location::base()),
            runner: StoredValue::new(String::new()),
            folder: StoredValue::new_local(None),
            generation: StoredValue::new(0),
            reveals: StoredValue::new(false),
            before_fix: StoredValue::new(String::new()),
            pastes: StoredValue::new(false),
            duration: StoredValue::new(f64::INFINITY),
            stored: StoredValue::new(0.0),
        }
    }

    /// Runs once, when the elements are hydrated.
    pub(super) fn start(self) {
        let on_event = move |event| self.folder_event(event);
        let folder = Folder::new(move || self.editor.text(), on_event);
        self.folder.set_value(Some(folder));
        // Anywhere on the page: next to the editor, the browser would leave the page and show the file. Before the editor,
        // which would insert the file's text.
        let mut options = EventListenerOptions::run_in_capture_phase();
        options.passive = false;
        EventListener::new_with_options(&window(), "dragover", options, |event| {
            folder::allow_drop(event.unchecked_ref());
        })
        .forget();
        EventListener::new_with_options(&window(), "drop", options, move |event| {
            self.drop(event.unchecked_ref());
        })
        .forget();
        // Edits are stored after a delay, which a page that is left does not wait for.
        EventListener::new(&window(), "pagehide", move |_| self.store_text()).forget();
        EventListener::new(&window(), "hashchange", move |_| {
            spawn_local(async move {
                self.load_fragment(&location::fragment()).await;
            });
        })
        .forget();
        spawn_local(async move {
            let address = script::chosen_runner().await.as_string();
            let address = address.unwrap_or_else(|| self.base.get_value());
            self.runner.set_value(address.clone());
            self.state.runner_name.set(script::runner_name(&address));
            let runner = match api::readiness(&address).await {
                api::Readiness::Ready => Runner::Ready,
                api::Readiness::NotReady => Runner::NotReady,
                api::Readiness::Absent => Runner::Absent,
            };
            self.state.runner.set(runner);
        });
        spawn_local(self.load_first_text());
    }

    fn document_text(&self) -> String {
        self.state
            .document
            .with_untracked(|document| document.text.clone())
    }

    // Text.

    /// The text was edited.
    pub(super) fn edit(self, text: String) {
        self.state.change_document(|document| document.edit(text));
        // Nothing is typed after a paste, and the editor draws it after this call.
        if self.pastes.get_value() {
            self.pastes.set_value(false);
            spawn_local(self.analyze(self.next_generation()));
        } else {
            let is_fast = self.duration.get_value() < FAST;
            self.analyze_after(if is_fast { 0 } else { DEBOUNCE });
        }
    }

    /// A paste, before the text changes. A text area of many megabytes freezes the page, so such a paste is refused.
    pub(super) fn check_paste(self, event: &ev::ClipboardEvent) {
        let text = event
            .clipboard_data()
            .and_then(|data| data.get_data("text/plain").ok())
            .unwrap_or_default();
        if text.len() > TEXT_LIMIT {
            event.prevent_default();
            event.stop_propagation();
            self.state.fail(too_large(text.len()));
            return;
        }
        self.pastes.set_value(!text.is_empty());
    }

    /// Replaces the text. `is_own`: the reader chose it.
    fn load(self, text: String, is_own: bool) {
        self.editor.set_text(&text);
        keep_focus(|| {
            self.state.task.set(None);
            self.state.diff.set(Vec::new());
            self.state.change_document(|document| {
                document.load(text);
                document.is_own = is_own;
            });
        });
        self.analyze_after(0);
    }

    /// Goes back to the example.
    pub(super) fn reset(self) {
        self.set_file(String::new());
        self.read_as(None);
        self.load(self.editor.example(), true);
    }

    fn set_file(self, name: String) {
        self.state.document.update(|document| document.file = name);
    }

    /// Opens a file that was chosen or dropped.
    pub(super) fn open_file(self, file: web_sys::File) {
        spawn_local(async move {
            match folder::read_file(&file).await {
                Ok(text) => {
                    self.set_file(file.name());
                    self.load(text, true);
                }
                Err(sentence) => self.state.fail(sentence),
            }
        });
    }

    /// Shows changes from the current text on.
    pub(super) fn restart_comparison(self) {
        keep_focus(|| {
            self.state
                .document
                .update(|document| document.restart_comparison());
            self.state.diff.set(Vec::new());
        });
    }

    /// Selects a range of UTF-16 offsets in the editor.
    fn select(self, from: u32, to: u32) {
        self.editor.select(from, to);
    }

    /// Selects the place of a finding, and shows its fix if it has to be looked at first.
    pub(super) fn select_finding(self, index: usize, from: u32, to: u32) {
        if self.is_unsafe(index) {
            findings::open_change(index);
        }
        self.select(from, to);
    }

    pub(super) fn set_plain(self, plain: bool) {
        storage::store(PLAIN_KEY, if plain { "yes" } else { "no" });
        spawn_local(self.show_editor(plain));
    }

    async fn show_editor(self, plain: bool) {
        let on_fix = move |index| {
            let index = index as usize;
            self.choose_fix(index);
            focus::focus(&findings::fix_id(index));
        };
        let shown = self
            .editor
            .set_plain(plain, move |text| self.edit(text), on_fix);
        if shown.await.is_err() {
            self.state
                .fail("The editor could not be loaded; the plain editor works as well.");
        }
    }

    // Target and language.

    /// Changes the target that the text and an open folder are checked for.
    pub(super) fn retarget(self, change: impl FnOnce(&mut Target)) {
        self.state.target.update(change);
        self.analyze_after(0);
        if self.state.project.with_untracked(Option::is_some) {
            self.check_folder();
        }
    }

    /// Reads the text as a language; `None` detects it.
    pub(super) fn read_as(self, language: Option<Language>) {
        self.state.language.set(language);
        self.analyze_after(0);
    }
}

fn too_large(bytes: usize) -> String {
    format!(
        "This text has {} MB; the playground reads up to 2 MB. Paste one module at a time, or run hipward check on the folder.",
        bytes >> 20
    )
}
