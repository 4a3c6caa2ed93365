//! The actions of the playground. Each changes signals of [`State`]; the components show the result.

use super::analyzer::{self, Changed, Source};
use super::editor::Editor;
use super::findings;
use super::folder::{self, Dropped, Folder, FolderEvent};
use super::fragment::{Fragment, share_fragment};
use super::project::Project;
use super::state::{Runner, State, Task};
use crate::browser::focus::{self, keep_focus};
use crate::browser::{api, json, location, script, share, storage};
use gloo_events::EventListener;
use gloo_net::http::Method;
use gloo_timers::callback::Timeout;
use hipward_analyzer_core::{
    Applicability, DiffKind, DiffLine, Fix, Judgement, Language, Report, Target,
};
use js_sys::Date;
use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

/// Maximum size of a text, bytes. The same as in site/js/files.js.
const TEXT_LIMIT: usize = 2 << 20;
/// Milliseconds between two times at which the text is stored, and without an edit before it is analyzed if that takes longer
/// than [`FAST`].
const DEBOUNCE: u32 = 200;
/// Milliseconds of an analysis that does not delay typing: the next edit is analyzed at once.
const FAST: f64 = 50.0;
const PLAIN_KEY: &str = "playground.plain";
const TEXT_KEY: &str = "playground.text";

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

/// The request that judges a text by the conditions of an exercise.
#[derive(Serialize)]
struct JudgeRequest<'a> {
    source: &'a str,
    target: &'a Target,
    exercise: &'a str,
}

#[derive(Serialize)]
struct DiffRequest<'a> {
    before: &'a str,
    after: &'a str,
}

/// The request for a job.
#[derive(Serialize)]
struct NewJob {
    code: String,
}

/// The job that was created, as far as the page needs it.
#[derive(Deserialize)]
struct Job {
    id: String,
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

    // Text from an earlier visit and from the address.

    /// Loads the text of this place in the history, of the address, typed before this ran, or of the last visit.
    async fn load_first_text(self) {
        let plain = storage::stored(PLAIN_KEY).as_deref() == Some("yes");
        if !self.load_fragment(&location::fragment()).await {
            let typed = self.editor.text();
            let stored = storage::stored(TEXT_KEY).filter(|stored| !stored.trim().is_empty());
            let text = match stored {
                Some(stored) if typed == self.editor.example() => stored,
                _ => typed,
            };
            // A link that could not be read is still reported.
            let error = self.state.error.get_untracked();
            self.load(text, false);
            self.state.error.set(error);
        }
        self.show_editor(plain).await;
    }

    /// Loads the text of a fragment. Returns false if it has none.
    async fn load_fragment(self, fragment: &str) -> bool {
        let fragment = Fragment::parse(fragment);
        if let Some(target) = fragment.target {
            self.retarget(|old| *old = target);
        }
        if fragment.language.is_some() {
            self.read_as(fragment.language);
        }
        let stored = location::state_text();
        let is_own = stored.is_some();
        let text = match (fragment.code, stored.or(fragment.text)) {
            (Some(packed), None) => match share::unpack(&packed).await {
                Ok(text) => Some(text),
                Err(sentence) => {
                    self.state.fail(sentence);
                    return false;
                }
            },
            (_, text) => text,
        };
        let Some(text) = text else {
            return false;
        };
        self.set_file(String::new());
        self.load(text, is_own);
        let task = fragment.task.zip(fragment.exercise);
        let lesson = fragment.lesson.map_or_else(String::new, |lesson| {
            format!("{}learn/{lesson}/", self.base.get_value())
        });
        self.state.task.set(task.map(|(text, exercise)| Task {
            text,
            exercise,
            judgement: None,
            lesson,
        }));
        true
    }

    /// Stores the text for the next visit. The text of an exercise is stored for its entry in the history only, so that it
    /// does not replace the reader's own code.
    fn store_text(self) {
        self.state.document.with_untracked(|document| {
            if document.is_own && document.text.len() <= TEXT_LIMIT {
                if self.state.task.with_untracked(Option::is_none) {
                    storage::store(TEXT_KEY, &document.text);
                }
                location::set_state_text(&document.text);
                self.stored.set_value(Date::now());
            }
        });
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

    // Analysis.

    /// Runs the analyzer once nothing has changed for `wait` milliseconds.
    fn analyze_after(self, wait: u32) {
        let generation = self.next_generation();
        self.after(wait, generation, move || {
            spawn_local(self.analyze(generation));
        });
    }

    fn next_generation(self) -> u64 {
        let generation = self.generation.get_value() + 1;
        self.generation.set_value(generation);
        generation
    }

    /// Runs `action` in `wait` milliseconds if nothing has changed until then.
    fn after(self, wait: u32, generation: u64, action: impl FnOnce() + 'static) {
        Timeout::new(wait, move || {
            if self.is_current(generation) {
                action();
            }
        })
        .forget();
    }

    fn is_current(self, generation: u64) -> bool {
        generation == self.generation.get_value()
    }

    /// The text as the analyzer takes it.
    fn source(self) -> Source {
        let (source, path) = self
            .state
            .document
            .with_untracked(|document| (document.text.clone(), document.file.clone()));
        // The files around a file of a folder say more about it than its text.
        let context = self
            .folder
            .with_value(|folder| folder.as_ref()?.request(&path));
        let mut source = Source {
            source,
            target: self.state.target.get_untracked(),
            path,
            context: context
                .and_then(|text| json::parse(&text))
                .unwrap_or_default(),
        };
        source.read_as(self.state.language.get_untracked());
        source
    }

    /// Analyzes the text. The request is sent before this returns.
    fn analyze(self, generation: u64) -> impl Future<Output = ()> {
        let source = self.source();
        let start = Date::now();
        let is_short = source.source.len() <= TEXT_LIMIT;
        let answer = is_short.then(|| analyzer::ask_value("analyze", &source));
        async move {
            match answer {
                Some(answer) => {
                    let answer = answer.await;
                    self.duration.set_value(Date::now() - start);
                    self.show_answer(answer, source, generation).await;
                }
                None => {
                    self.state.report.set(None);
                    self.state.fail(too_large(source.source.len()));
                }
            }
        }
    }

    async fn show_answer(self, answer: Result<JsValue, String>, source: Source, generation: u64) {
        if !self.is_current(generation) {
            return;
        }
        let report = answer.and_then(|answer| {
            let report = analyzer::parse::<Report>(answer.clone())?;
            self.editor.set_report(answer);
            Ok(report)
        });
        let before = self
            .state
            .document
            .with_untracked(|document| document.before.clone());
        let is_shown = match report {
            Ok(report) => {
                self.show_report(report, &source, before != source.source);
                true
            }
            Err(sentence) => {
                self.state.fail(sentence);
                false
            }
        };
        // Browsers limit how often an entry of the history is replaced.
        if Date::now() - self.stored.get_value() > f64::from(DEBOUNCE) {
            self.store_text();
        } else {
            self.after(DEBOUNCE, generation, move || self.store_text());
        }
        if !is_shown {
            return;
        }
        self.judge(&source, generation).await;
        let mut diff = Vec::new();
        if before != source.source {
            diff = difference(&before, &source.source).await;
        }
        if self.is_current(generation) && self.state.diff.with_untracked(|old| *old != diff) {
            keep_focus(|| self.state.diff.set(diff));
        }
    }

    fn show_report(self, report: Report, source: &Source, is_changed: bool) {
        keep_focus(|| {
            if self.state.project.with_untracked(Option::is_some) {
                self.state.project.update(|project| {
                    if let Some(project) = project {
                        project.recount(&source.path, &report, is_changed);
                    }
                });
            }
            self.state.report.set(Some(report));
            self.state.is_fresh.set(true);
        });
    }

    /// Judges the text by the conditions of the task, if there is one.
    async fn judge(self, source: &Source, generation: u64) {
        let task = self
            .state
            .task
            .with_untracked(|task| Some(task.as_ref()?.exercise.clone()));
        let Some(exercise) = task else { return };
        let request = JudgeRequest {
            source: &source.source,
            target: &source.target,
            exercise: &exercise,
        };
        let answer = analyzer::ask::<Judgement>("judge", &request).await;
        if !self.is_current(generation) {
            return;
        }
        match answer {
            Ok(judgement) => self.state.task.update(|task| {
                if let Some(task) = task {
                    task.judgement = Some(judgement);
                }
            }),
            Err(sentence) => self.state.fail(sentence),
        }
    }

    // Fixes.

    /// The fix of the finding at an index. `None` for a report of an older text, whose indices may differ.
    fn fix(self, index: usize) -> Option<Fix> {
        if !self.state.is_fresh.get_untracked() {
            return None;
        }
        let report = self.state.report;
        report.with_untracked(|report| report.as_ref()?.findings.get(index)?.fix.clone())
    }

    /// Whether the fix of a finding may change behaviour.
    fn is_unsafe(self, index: usize) -> bool {
        let fix = self.fix(index);
        fix.is_some_and(|fix| fix.applicability == Applicability::Unsafe && !fix.edits.is_empty())
    }

    /// Applies the fix of a finding if it keeps behaviour; otherwise shows its changes.
    pub(super) fn choose_fix(self, index: usize) {
        if self.is_unsafe(index) {
            findings::open_change(index);
        } else {
            self.apply_fix(index);
        }
    }

    /// Applies the fix of a finding.
    pub(super) fn apply_fix(self, index: usize) {
        if let Some(fix) = self.fix(index) {
            let sentence = format!("Applied: {}.", fix.title);
            spawn_local(self.change("apply", vec![index], sentence));
        }
    }

    /// Applies the fixes of the findings at indices, which are of one rule.
    pub(super) fn apply_fixes(self, indices: Vec<usize>, rule: &str) {
        if self.state.is_fresh.get_untracked() {
            let sentence = format!("Applied the fixes of {rule}.");
            spawn_local(self.change("apply", indices, sentence));
        }
    }

    /// Applies every fix that keeps behaviour.
    pub(super) fn apply_safe_fixes(self) {
        let sentence = "Applied all safe fixes.".to_owned();
        spawn_local(self.change("fix_all", Vec::new(), sentence));
    }

    /// Adds the parts of the benchmark contract that are missing.
    pub(super) fn add_skeleton(self) {
        let sentence = "Added the missing parts.".to_owned();
        spawn_local(self.change("skeleton", Vec::new(), sentence));
    }

    /// Reads the changes that the fix of a finding would make into `lines`, or empties `lines` if they are there.
    pub(super) fn toggle_change(self, index: usize, lines: RwSignal<Vec<DiffLine>>) {
        if lines.with_untracked(|lines| !lines.is_empty()) {
            lines.set(Vec::new());
            return;
        }
        if self.fix(index).is_none() {
            return;
        }
        spawn_local(async move {
            let source = self.source();
            match analyzer::ask::<Changed>("apply", &source.findings(&[index])).await {
                // The card is gone if the text changed meanwhile.
                Ok(changed) => {
                    let _ = lines.try_set(difference(&source.source, &changed.source).await);
                }
                Err(sentence) => self.state.fail(sentence),
            }
        });
    }

    /// Replaces the text with the answer of a method. `indices` are the findings for `apply`, `sentence` tells what was done.
    async fn change(self, method: &'static str, indices: Vec<usize>, sentence: String) {
        let source = self.source();
        let request = source.findings(&indices);
        let request = if indices.is_empty() {
            &source
        } else {
            &request
        };
        let changed = match analyzer::ask::<Changed>(method, request).await {
            Ok(changed) => changed.source,
            Err(sentence) => return self.state.fail(sentence),
        };
        let lines = difference(&source.source, &changed).await;
        if self.document_text() != source.source {
            return;
        }
        let added: Vec<u32> = lines
            .iter()
            .filter(|line| line.kind == DiffKind::Added)
            .filter_map(|line| line.new)
            .collect();
        self.editor.apply_fix(&changed, &added);
        keep_focus(|| {
            self.state
                .change_document(|document| document.apply(changed));
            self.before_fix.set_value(source.source);
            self.state.applied.set(sentence);
        });
        self.analyze_after(0);
    }

    /// Undoes the last change by fixes.
    pub(super) fn undo(self) {
        keep_focus(|| {
            // The editor reports the text that it restored.
            if !self.editor.undo() {
                let before = self.before_fix.get_value();
                self.editor.set_text(&before);
                self.edit(before);
            }
        });
    }

    /// Undoes a change by fixes with Ctrl-Z, wherever the focus is. The editor handles the key itself.
    pub(super) fn key(self, event: &ev::KeyboardEvent) {
        let is_undo = (event.ctrl_key() || event.meta_key())
            && !event.shift_key()
            && event.key().eq_ignore_ascii_case("z");
        if is_undo
            && !event.default_prevented()
            && self
                .state
                .applied
                .with_untracked(|applied| !applied.is_empty())
        {
            event.prevent_default();
            self.undo();
        }
    }

    // Links, other pages.

    /// Puts a link to the text into the address bar and the clipboard.
    pub(super) fn share(self) {
        spawn_local(async move {
            let packed = match share::pack(&self.document_text()).await {
                Ok(packed) => packed,
                Err(sentence) => return self.state.fail(sentence),
            };
            let language = self
                .state
                .report
                .with_untracked(|report| report.as_ref().map(|report| report.language));
            let target = self.state.target.get_untracked();
            location::replace_fragment(&share_fragment(&packed, &target, language));
            let copied = script::copy_text(&location::address()).await;
            let notice = if copied.is_truthy() {
                "Link copied. It contains the code itself; nothing was uploaded."
            } else {
                "The link is in the address bar. It contains the code itself."
            };
            self.state.notice.set(notice.to_owned());
        });
    }

    /// Opens the kernel on the page for machine code.
    pub(super) fn show_machine_code(self, language: &'static str) {
        spawn_local(async move {
            match share::pack(&self.document_text()).await {
                Ok(packed) => {
                    let arch = self
                        .state
                        .target
                        .with_untracked(|target| target.arch.name());
                    let base = self.base.get_value();
                    self.navigate(&format!(
                        "{base}isa/#code={packed}&language={language}&arch={arch}"
                    ));
                }
                Err(sentence) => self.state.fail(sentence),
            }
        });
    }

    /// Sends the text as a job and opens its page.
    pub(super) fn benchmark(self) {
        self.state.runner.set(Runner::Sending);
        spawn_local(async move {
            let stays = match self.submit().await {
                Ok(address) => self.navigate(&address),
                Err(sentence) => {
                    self.state.fail(sentence);
                    true
                }
            };
            // While the page is being left, the button stays disabled.
            if stays {
                self.state.runner.set(Runner::Ready);
            }
        });
    }

    /// Sends the text as a job; returns the address of its page.
    async fn submit(self) -> Result<String, String> {
        let runner = self.runner.get_value();
        let request = NewJob {
            code: self.document_text(),
        };
        let body = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        let answer = api::send(Method::POST, &format!("{runner}api/v1/jobs"), Some(&body)).await?;
        let job = json::parse::<Job>(&answer).ok_or(api::OLD_PAGE)?;
        Ok(script::job_page(&runner, &job.id))
    }

    /// Opens another page of the site: in a new tab while a folder is open, because the browser forgets the folder when its
    /// page is left. Returns whether this page stays.
    fn navigate(self, address: &str) -> bool {
        let opens_tab = self.state.project.with_untracked(Option::is_some);
        if opens_tab {
            let notice = "The page opened in a new tab. Your folder stays open here.";
            self.state.notice.set(notice.to_owned());
        }
        location::open(address, opens_tab);
        opens_tab
    }

    // The folder.

    fn with_folder(self, action: impl FnOnce(&Folder)) {
        self.folder.with_value(|folder| {
            if let Some(folder) = folder {
                action(folder);
            }
        });
    }

    /// Opens the files of an input for files: one in the editor, several like a folder.
    pub(super) fn open_files(self, files: &[web_sys::File]) {
        match files {
            [file] => self.open_file(file.clone()),
            files => self.open_folder(files),
        }
    }

    /// Opens the files of an input for folders.
    pub(super) fn open_folder(self, files: &[web_sys::File]) {
        if !files.is_empty() {
            self.take("ofInput", files.iter().collect());
        }
    }

    /// Opens a file or a folder that was dropped.
    pub(super) fn drop(self, event: &ev::DragEvent) {
        match folder::take_drop(event) {
            Some(Dropped::File(file)) => self.open_file(file),
            Some(Dropped::Entries(entries)) => self.take("ofDrop", entries),
            None => {}
        }
    }

    fn take(self, how: &'static str, items: js_sys::Array) {
        if let Some(folder) = self.folder.get_value() {
            spawn_local(async move { folder.take(how, items.into()).await });
        }
    }

    fn check_folder(self) {
        let target = self.state.target.get_untracked();
        self.with_folder(|folder| folder.check_for(&target));
    }

    fn folder_event(self, event: FolderEvent) {
        match event {
            FolderEvent::Opened(name) => {
                self.state.clear_messages();
                self.state.project.set(Some(Project::named(name)));
                self.check_folder();
            }
            FolderEvent::Progress(progress) => {
                self.state.project.update(|project| {
                    if let Some(project) = project {
                        project.progress = *progress;
                    }
                });
                self.open_first_file();
            }
            FolderEvent::Text(text) => {
                self.load(text, false);
                self.editor.forget_history();
                if self.reveals.get_value() {
                    self.editor.reveal();
                }
            }
            FolderEvent::Notice(sentence) => self.state.notice.set(sentence),
            FolderEvent::Error(sentence) => self.state.fail(sentence),
        }
    }

    /// The path of the file in the editor, in the open folder; empty for a text from elsewhere.
    pub(super) fn open_path(self) -> String {
        let file = self.state.document.with(|document| document.file.clone());
        self.state.project.with(|project| {
            project
                .as_ref()
                .map_or_else(String::new, |project| project.open_path(&file).to_owned())
        })
    }

    /// Opens the file with the worst findings once the folder is checked, so that the editor shows a file of it.
    fn open_first_file(self) {
        let mut first = None;
        self.state.project.update_untracked(|project| {
            first = project.as_mut().and_then(Project::first_file);
        });
        if let Some(path) = first {
            self.open_in_editor(&path, false);
        }
    }

    /// Opens a file of the folder in the editor.
    pub(super) fn open_project_file(self, path: &str) {
        self.open_in_editor(path, true);
    }

    /// `reveals`: whether to scroll to the editor.
    fn open_in_editor(self, path: &str, reveals: bool) {
        self.reveals.set_value(reveals);
        let left = untrack(|| self.open_path());
        let shown = self
            .state
            .project
            .with_untracked(|project| Some(project.as_ref()?.shown(path)));
        let Some(shown) = shown else { return };
        self.state.language.set(None);
        self.set_file(shown);
        self.with_folder(|folder| folder.open(path, &left));
    }

    /// Saves the fixed files of the folder as a `patch` or a `zip`, or its porting `plan`.
    pub(super) fn download(self, form: &'static str) {
        self.state.error.set(String::new());
        if form != "plan" {
            self.state.notice.set("Applying the fixes.".to_owned());
        }
        let left = untrack(|| self.open_path());
        let target = self.state.target.get_untracked();
        self.with_folder(|folder| folder.download_for(form, &target, &left));
    }

    /// Closes the folder. The text in the editor stays.
    pub(super) fn close_folder(self) {
        self.with_folder(Folder::close);
        keep_focus(|| self.state.project.set(None));
    }
}

/// The diff of two texts; empty if the analyzer does not answer.
async fn difference(before: &str, after: &str) -> Vec<DiffLine> {
    let request = DiffRequest { before, after };
    analyzer::ask("diff", &request).await.unwrap_or_default()
}

fn too_large(bytes: usize) -> String {
    format!(
        "This text has {} MB; the playground reads up to 2 MB. Paste one module at a time, or run hipward check on the folder.",
        bytes >> 20
    )
}
