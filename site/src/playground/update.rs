//! What follows from a message: a new state, questions to the analyzer, and a redrawing.

use super::fragment::{Fragment, share_fragment, write_target};
use super::message::Message;
use super::project::{Progress, Project};
use super::state::{Runner, State, Task};
use super::view::regions;
use crate::browser::{self, Workspace};
use crate::regions::Painter;
use crate::wire::{Decode, decode_struct};
use hipward_analyzer_core::{DiffLine, Judgement, Language, Report, Target};
use leptos::task::spawn_local;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Largest text that is analyzed; more is refused with a sentence.
const TEXT_LIMIT: usize = 2 << 20;
/// How long typing rests before the analyzer is asked, milliseconds.
const DEBOUNCE: u32 = 200;
const KEPT_PLAIN: &str = "playground.plain";

/// The one playground of a page.
struct Session {
    base: String,
    workspace: Workspace,
    state: RefCell<State>,
    painter: RefCell<Painter>,
    /// Counts changes of text and target; an answer to an older one is dropped.
    generation: Cell<u64>,
}

/// A source that the analyzer made.
struct Changed {
    source: String,
}
decode_struct!(Changed { source });

/// Everything that happens once.
pub(super) fn start() {
    let handler: Rc<RefCell<Option<Rc<Session>>>> = Rc::default();
    let on_act = {
        let handler = handler.clone();
        Closure::new(move |act: String, argument: String| {
            let session = handler.borrow().clone();
            if let (Some(session), Some(message)) = (session, Message::parse(&act, argument)) {
                spawn_local(session.update(message));
            }
        })
    };
    let session = Rc::new(Session {
        base: browser::base(),
        workspace: browser::open_workspace(&on_act),
        state: RefCell::default(),
        painter: RefCell::default(),
        generation: Cell::new(0),
    });
    *handler.borrow_mut() = Some(session.clone());
    // It lives as long as the page.
    on_act.forget();
    spawn_local(session.clone().find_runner());
    spawn_local(session.load_first_text());
}

impl Session {
    async fn update(self: Rc<Self>, message: Message) {
        match message {
            Message::Edit(text) => {
                self.state.borrow_mut().edit(text);
                self.analyze_later(DEBOUNCE);
            }
            Message::File(name) => self.state.borrow_mut().file = name,
            Message::Open(text) => {
                self.load(text);
                self.state.borrow_mut().own = true;
            }
            Message::Folder(name) => {
                let target = {
                    let mut state = self.state.borrow_mut();
                    state.trouble.clear();
                    state.notice.clear();
                    state.project = Some(Project::named(name));
                    write_target(&state.target)
                };
                self.workspace.check_project(&target);
            }
            Message::Project(json) => self.project(&json),
            Message::OpenFile(at) => self.open_file(at),
            Message::Opened(text) => self.load(text),
            Message::Download(form) => self.download(&form),
            Message::CloseProject => {
                self.workspace.close_project();
                self.state.borrow_mut().project = None;
            }
            Message::Notice(sentence) => self.state.borrow_mut().notice = sentence,
            Message::Trouble(sentence) => self.trouble(sentence),
            Message::Fragment(fragment) => {
                self.clone().load_fragment(&fragment).await;
            }
            Message::Reset => {
                let example = self.workspace.example();
                self.state.borrow_mut().file.clear();
                self.read_as(None);
                self.load(example);
                self.state.borrow_mut().own = true;
            }
            Message::Fix(index) => self.change("apply", Some(index)).await,
            Message::FixSafe => self.change("fix_all", None).await,
            Message::Skeleton => self.change("skeleton", None).await,
            Message::Compare => {
                let mut state = self.state.borrow_mut();
                let text = state.text.clone();
                state.before = text;
                state.fixed = false;
                state.diff.clear();
            }
            Message::Go(range) => self.workspace.select(&range),
            Message::Share => self.share().await,
            Message::Plain(plain) => {
                browser::remember(KEPT_PLAIN, if plain { "yes" } else { "no" });
                self.workspace.set_plain(plain);
            }
            Message::Arch(arch) => self.retarget(|target| target.arch = arch),
            Message::Rocm(version) => self.retarget(|target| target.rocm = version),
            Message::Torch(version) => self.retarget(|target| target.torch = version),
            Message::Python(version) => self.retarget(|target| target.python = version),
            Message::Language(language) => self.read_as(language),
            Message::Leave => self.keep(),
            Message::Benchmark => self.benchmark().await,
            Message::Isa => self.machine_code().await,
        }
        self.draw();
    }

    fn draw(&self) {
        let regions = regions(&self.state.borrow(), &self.base);
        self.painter.borrow_mut().paint(regions);
    }

    fn trouble(&self, sentence: String) {
        let mut state = self.state.borrow_mut();
        state.trouble = sentence;
        state.notice.clear();
        drop(state);
        self.draw();
    }

    /// How far the check of the folder is.
    fn project(&self, json: &str) {
        let mut state = self.state.borrow_mut();
        let progress = browser::parse(json).ok();
        if let (Some(progress), Some(project)) = (
            progress.as_ref().and_then(Progress::decode),
            &mut state.project,
        ) {
            project.progress = progress;
        }
    }

    /// Asks for a file of the folder; its text comes as `Message::Opened`.
    fn open_file(&self, at: usize) {
        let mut state = self.state.borrow_mut();
        let project = state.project.as_ref();
        let Some((path, shown, left)) = project.and_then(|project| {
            let path = project.file(at)?.path.clone();
            let left = project.open_path(&state.file).to_owned();
            let shown = project.shown(&path);
            Some((path, shown, left))
        }) else {
            return;
        };
        state.language = None;
        state.file = shown;
        drop(state);
        self.workspace.set_language("");
        self.workspace.open_file(&path, &left);
    }

    /// What comes of it is a notice.
    fn download(&self, form: &str) {
        let mut state = self.state.borrow_mut();
        let project = state.project.as_ref();
        let Some(open) = project.map(|project| project.open_path(&state.file).to_owned()) else {
            return;
        };
        state.trouble.clear();
        state.notice = "Applying the fixes.".to_owned();
        let target = write_target(&state.target);
        drop(state);
        self.workspace.download(form, &target, &open);
    }

    async fn find_runner(self: Rc<Self>) {
        let found = browser::runner_state().await.as_string();
        self.state.borrow_mut().runner = match found.as_deref() {
            Some("ready") => Runner::Ready,
            Some("not-ready") => Runner::NotReady,
            _ => Runner::Absent,
        };
        self.draw();
    }

    /// What was kept for this place decides, then the address, what was typed before this ran, and the last visit.
    async fn load_first_text(self: Rc<Self>) {
        let plain = browser::recall(KEPT_PLAIN).as_deref() == Some("yes");
        let fragment = browser::fragment();
        if !self.clone().load_fragment(&fragment).await {
            let typed = self.workspace.text();
            let kept = browser::kept_last().filter(|kept| !kept.trim().is_empty());
            let text = match kept {
                Some(kept) if typed == self.workspace.example() => kept,
                _ => typed,
            };
            // A link that could not be read is still to be told.
            let trouble = self.state.borrow().trouble.clone();
            self.load(text);
            self.state.borrow_mut().trouble = trouble;
        }
        self.workspace.set_plain(plain);
    }

    /// Loads what the address asks for; false when it asks for nothing.
    async fn load_fragment(self: Rc<Self>, fragment: &str) -> bool {
        let fragment = Fragment::parse(fragment);
        if let Some(target) = fragment.target {
            self.workspace.set_target(&write_target(&target));
            self.retarget(|old| *old = target);
        }
        if fragment.language.is_some() {
            self.read_as(fragment.language);
        }
        let kept = browser::kept_here();
        let own = kept.is_some();
        let text = match (fragment.code, kept.or(fragment.text)) {
            (Some(packed), None) => match browser::unpack(&packed).await {
                Ok(text) => text.as_string(),
                Err(error) => {
                    self.trouble(browser::sentence(&error));
                    return false;
                }
            },
            (_, text) => text,
        };
        let Some(text) = text else {
            return false;
        };
        self.state.borrow_mut().file.clear();
        self.load(text);
        let mut state = self.state.borrow_mut();
        state.own = own;
        state.task = fragment
            .task
            .zip(fragment.exercise)
            .map(|(text, exercise)| Task {
                text,
                exercise,
                judgement: None,
            });
        drop(state);
        self.draw();
        true
    }

    fn load(self: &Rc<Self>, text: String) {
        self.workspace.set_text(&text);
        self.state.borrow_mut().load(text);
        self.analyze_later(0);
    }

    fn retarget(self: &Rc<Self>, change: impl FnOnce(&mut Target)) {
        let folder_target = {
            let mut state = self.state.borrow_mut();
            change(&mut state.target);
            state.project.is_some().then(|| write_target(&state.target))
        };
        self.analyze_later(0);
        if let Some(target) = folder_target {
            self.workspace.check_project(&target);
        }
    }

    fn read_as(self: &Rc<Self>, language: Option<Language>) {
        self.workspace
            .set_language(language.map(Language::name).unwrap_or_default());
        self.state.borrow_mut().language = language;
        self.analyze_later(0);
    }

    /// Lets the browser remember the text for the next visit.
    fn keep(&self) {
        let state = self.state.borrow();
        if state.own && state.text.len() <= TEXT_LIMIT {
            browser::keep(&state.text);
        }
    }

    /// Goes to another page of the site. What a browser knows of a folder ends with the page, so
    /// with one open the other page opens beside this. Whether this one stays.
    fn go(&self, address: &str) -> bool {
        let mut state = self.state.borrow_mut();
        let beside = state.project.is_some();
        if beside {
            state.notice = "It opened beside this page, where your folder stays.".to_owned();
        }
        browser::go(address, beside);
        beside
    }

    /// Asks the analyzer once nothing has changed for `wait` milliseconds.
    fn analyze_later(self: &Rc<Self>, wait: u32) {
        let generation = self.generation.get() + 1;
        self.generation.set(generation);
        let session = self.clone();
        let ask = Closure::once_into_js(move || {
            if generation == session.generation.get() {
                spawn_local(session.analyze(generation));
            }
        });
        browser::later(wait, ask);
    }

    async fn analyze(self: Rc<Self>, generation: u64) {
        let (text, before, settings) = {
            let state = self.state.borrow();
            (state.text.clone(), state.before.clone(), state.settings())
        };
        if text.len() > TEXT_LIMIT {
            self.state.borrow_mut().report = None;
            self.trouble(format!(
                "This text has {} MB; the playground reads up to 2 MB. Paste one module at a time, or run hipward check on the folder.",
                text.len() >> 20
            ));
            return;
        }
        self.keep();
        let answer = browser::ask("analyze", &text, &settings, None).await;
        if generation != self.generation.get() {
            return;
        }
        match read::<Report>(&answer) {
            Ok(report) => {
                if let Ok(answer) = &answer {
                    self.workspace.set_report(answer);
                }
                let mut state = self.state.borrow_mut();
                let State { project, file, .. } = &mut *state;
                if let Some(project) = project {
                    project.recount(file, &report, before != text);
                }
                state.report = Some(report);
                state.fresh = true;
            }
            Err(sentence) => return self.trouble(sentence),
        }
        self.draw();
        self.judge(&text, &settings, generation).await;
        let mut diff = Vec::new();
        if before != text {
            let answer = browser::diff(&before, &text).await;
            diff = read::<Vec<DiffLine>>(&answer).unwrap_or_default();
        }
        if generation == self.generation.get() {
            self.state.borrow_mut().diff = diff;
            self.draw();
        }
    }

    /// Judges the text by the conditions of the task, if there is one.
    async fn judge(&self, text: &str, settings: &str, generation: u64) {
        let exercise = match &self.state.borrow().task {
            Some(task) => task.exercise.clone(),
            None => return,
        };
        let answer = browser::judge(text, settings, &exercise).await;
        if generation != self.generation.get() {
            return;
        }
        match read::<Judgement>(&answer) {
            Ok(judgement) => {
                if let Some(task) = &mut self.state.borrow_mut().task {
                    task.judgement = Some(judgement);
                }
                self.draw();
            }
            Err(sentence) => self.trouble(sentence),
        }
    }

    /// Lets the analyzer change the text. A click on one finding of an older text does nothing:
    /// the report of the new one is on its way.
    async fn change(self: &Rc<Self>, method: &str, index: Option<u32>) {
        let (text, settings) = {
            let state = self.state.borrow();
            if index.is_some() && !state.fresh {
                return;
            }
            (state.text.clone(), state.settings())
        };
        let answer = browser::ask(method, &text, &settings, index).await;
        match read::<Changed>(&answer) {
            Ok(changed) => {
                if self.state.borrow().text == text {
                    self.workspace.set_text(&changed.source);
                    self.state.borrow_mut().apply(changed.source);
                    self.analyze_later(0);
                }
            }
            Err(sentence) => self.trouble(sentence),
        }
    }

    async fn share(&self) {
        let (text, target, language) = {
            let state = self.state.borrow();
            let language = state.report.as_ref().map(|report| report.language);
            (state.text.clone(), state.target.clone(), language)
        };
        let Some(packed) = self.packed(&text).await else {
            return;
        };
        let copied = browser::share_address(&share_fragment(&packed, &target, language)).await;
        self.state.borrow_mut().notice = if copied.is_truthy() {
            "Link copied. It holds the code itself; nothing was uploaded.".to_owned()
        } else {
            "The link is in the address bar. It holds the code itself.".to_owned()
        };
    }

    /// A text for an address; what is in the way is told.
    async fn packed(&self, text: &str) -> Option<String> {
        match browser::pack(text).await {
            Ok(packed) => packed.as_string(),
            Err(error) => {
                self.trouble(browser::sentence(&error));
                None
            }
        }
    }

    async fn machine_code(&self) {
        let (text, arch) = {
            let state = self.state.borrow();
            (state.text.clone(), state.target.arch)
        };
        if let Some(packed) = self.packed(&text).await {
            let language = match super::view::kernel_language(&self.state.borrow()) {
                Some(language) => language,
                None => return,
            };
            self.go(&format!(
                "{}isa/#code={packed}&language={language}&arch={}",
                self.base,
                arch.name()
            ));
        }
    }

    async fn benchmark(&self) {
        let code = {
            let mut state = self.state.borrow_mut();
            state.runner = Runner::Sending;
            state.text.clone()
        };
        self.draw();
        let stays = match browser::submit(&code).await {
            Ok(address) => self.go(&address.as_string().unwrap_or_default()),
            Err(error) => {
                self.trouble(browser::sentence(&error));
                true
            }
        };
        // A page that is about to be left does not offer to send once more.
        if stays {
            self.state.borrow_mut().runner = Runner::Ready;
        }
    }
}

/// What an answer says, or why there is none.
fn read<T: Decode>(answer: &Result<JsValue, JsValue>) -> Result<T, String> {
    match answer {
        Ok(json) => T::decode(json).ok_or_else(|| {
            "The analyzer and this page are not of one build; reload the page.".to_owned()
        }),
        Err(error) => Err(browser::sentence(error)),
    }
}
