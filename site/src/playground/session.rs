//! The playground's state and everything that changes it. What it looks like is in `panels.rs`.

use super::TEXT_LIMIT;
use super::browser::{self, Editor};
use super::fragment::{Fragment, share_fragment};
use crate::diff::DiffLine;
use crate::runner;
use gloo_timers::callback::Timeout;
use hipward_analyzer::{Report, Target};
use hipward_protocol::JobRequest;
use leptos::html::Textarea;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

/// How long typing rests before the analyzer is asked.
const DEBOUNCE_MS: u32 = 200;
const KEPT_TEXT: &str = "playground.text";
const KEPT_PLAIN: &str = "playground.plain";

/// Signals, all of them cheap to copy.
#[derive(Clone, Copy)]
pub(super) struct Session {
    base: StoredValue<String>,
    pub(super) example: StoredValue<String>,
    area: NodeRef<Textarea>,
    editor: StoredValue<Option<Editor>, LocalStorage>,
    /// What stands in the editor.
    pub(super) text: RwSignal<String>,
    /// What stood there before the first fix.
    pub(super) before: RwSignal<String>,
    fixed: StoredValue<bool>,
    pub(super) target: RwSignal<Target>,
    /// The newest report and the text it is about.
    pub(super) report: RwSignal<Option<(String, Report)>>,
    pub(super) diff: RwSignal<Vec<DiffLine>>,
    pub(super) task: RwSignal<Option<Task>>,
    pub(super) plain: RwSignal<bool>,
    /// Something that did not work, in a sentence.
    pub(super) trouble: RwSignal<String>,
    /// A short confirmation: `Link copied`.
    pub(super) notice: RwSignal<String>,
    pub(super) runner: RwSignal<Runner>,
    /// True once the first report is there.
    pub(super) ready: RwSignal<bool>,
    /// Counts edits; an answer to an older one is dropped.
    generation: StoredValue<u64>,
}

/// What a lesson asks for.
#[derive(Clone, PartialEq)]
pub(super) struct Task {
    pub(super) text: String,
    pub(super) gone: Vec<String>,
}

/// Whether there is somebody to send a benchmark to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Runner {
    Asking,
    Absent,
    NotReady,
    Ready,
    Sending,
}

#[derive(Serialize)]
struct AnalyzeRequest<'a> {
    source: &'a str,
    target: &'a Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    indices: Option<&'a [usize]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to: Option<&'a str>,
}

#[derive(Serialize)]
struct DiffRequest<'a> {
    before: &'a str,
    after: &'a str,
}

#[derive(Deserialize)]
struct Changed {
    source: String,
}

impl Session {
    pub(super) fn new(base: String, example: String, area: NodeRef<Textarea>) -> Self {
        Session {
            base: StoredValue::new(base),
            area,
            editor: StoredValue::new_local(None),
            text: RwSignal::new(example.clone()),
            before: RwSignal::new(example.clone()),
            example: StoredValue::new(example),
            fixed: StoredValue::new(false),
            target: RwSignal::new(Target::default()),
            report: RwSignal::new(None),
            diff: RwSignal::new(Vec::new()),
            task: RwSignal::new(None),
            plain: RwSignal::new(false),
            trouble: RwSignal::new(String::new()),
            notice: RwSignal::new(String::new()),
            runner: RwSignal::new(Runner::Asking),
            ready: RwSignal::new(false),
            generation: StoredValue::new(0),
        }
    }

    /// An address on this site.
    pub(super) fn href(self, path: &str) -> String {
        format!("{}{path}", self.base.read_value())
    }

    /// Everything that happens once, in the browser.
    pub(super) fn start(self) {
        let plain = browser::recall(KEPT_PLAIN).as_deref() == Some("yes");
        self.plain.set(plain);
        spawn_local(async move {
            self.load_first_text().await;
            if !plain {
                self.mount_editor().await;
            }
            self.analyze_later(0);
        });
        spawn_local(async move {
            let answer = runner::capabilities(&self.base.read_value()).await;
            self.runner.set(match answer {
                Some(capabilities) if capabilities.ready => Runner::Ready,
                Some(_) => Runner::NotReady,
                None => Runner::Absent,
            });
        });
        let reload = Closure::<dyn FnMut()>::new(move || {
            spawn_local(async move { self.load_fragment().await; });
        });
        if let Some(window) = web_sys::window() {
            window.set_onhashchange(Some(reload.as_ref().unchecked_ref()));
            reload.forget();
        }
    }

    /// The address decides; else what was typed before this script ran; else the last visit.
    async fn load_first_text(self) {
        if self.load_fragment().await {
            return;
        }
        let typed = self.area.get_untracked().map(|area| area.value());
        let example = self.example.get_value();
        match typed {
            Some(typed) if typed != example => self.load(typed),
            _ => {
                if let Some(kept) = browser::recall(KEPT_TEXT) {
                    self.load(kept);
                }
            }
        }
    }

    async fn load_fragment(self) -> bool {
        let hash = web_sys::window().and_then(|window| window.location().hash().ok());
        let fragment = Fragment::parse(hash.unwrap_or_default().trim_start_matches('#'));
        if let Some(target) = fragment.target {
            self.target.set(target);
        }
        let text = match (fragment.code, fragment.text) {
            (Some(packed), _) => match browser::unpack(&packed).await {
                Ok(text) => text.as_string(),
                Err(error) => {
                    self.trouble.set(browser::sentence(&error));
                    None
                }
            },
            (None, text) => text,
        };
        let Some(text) = text else {
            return false;
        };
        self.load(text);
        self.task.set(fragment.task.map(|text| Task {
            text,
            gone: fragment.gone,
        }));
        true
    }

    /// Replaces everything: a file, a link, the example.
    pub(super) fn load(self, text: String) {
        self.fixed.set_value(false);
        self.before.set(text.clone());
        self.task.set(None);
        self.show(text);
    }

    /// Back to the example.
    pub(super) fn reset(self) {
        self.load(self.example.get_value());
    }

    /// A person typed or pasted.
    pub(super) fn edited(self, text: String) {
        // What is compared with stays the paste itself, until a fix has been applied; a wholly
        // new paste starts over.
        if !self.fixed.get_value() || is_new_paste(&self.text.read_untracked(), &text) {
            self.fixed.set_value(false);
            self.before.set(text.clone());
        }
        self.set(text);
        self.analyze_later(DEBOUNCE_MS);
    }

    fn set(self, text: String) {
        if text.len() <= TEXT_LIMIT {
            browser::remember(KEPT_TEXT, &text);
        }
        self.trouble.set(String::new());
        self.notice.set(String::new());
        self.text.set(text);
    }

    /// Puts a text into whichever editor is there.
    fn show(self, text: String) {
        if let Some(editor) = self.editor.get_value() {
            editor.set_text(&text);
        }
        if let Some(area) = self.area.get_untracked() {
            area.set_value(&text);
        }
        self.set(text);
        self.analyze_later(0);
    }

    /// Switches between the editor and the text area, and remembers the choice.
    pub(super) fn set_plain(self, plain: bool) {
        self.plain.set(plain);
        browser::remember(KEPT_PLAIN, if plain { "yes" } else { "no" });
        if plain {
            if let Some(editor) = self.editor.get_value() {
                editor.remove();
            }
            self.editor.set_value(None);
            if let Some(area) = self.area.get_untracked() {
                area.set_value(&self.text.read_untracked());
            }
        } else {
            spawn_local(async move {
                self.mount_editor().await;
                self.analyze_later(0);
            });
        }
    }

    async fn mount_editor(self) {
        let Some(area) = self.area.get_untracked() else {
            return;
        };
        area.set_value(&self.text.read_untracked());
        let on_change = Closure::new(move |text| self.edited(text));
        let on_fix = Closure::new(move |index| self.fix(index));
        match browser::mount_editor(&area, &on_change, &on_fix).await {
            Ok(editor) => self.editor.set_value(Some(editor.unchecked_into())),
            // The text area stays, and works.
            Err(error) => self.trouble.set(browser::sentence(&error)),
        }
        // They live as long as the page.
        on_change.forget();
        on_fix.forget();
    }

    /// Asks the analyzer once no newer edit has come for `wait` milliseconds.
    pub(super) fn analyze_later(self, wait: u32) {
        let generation = self.generation.get_value() + 1;
        self.generation.set_value(generation);
        Timeout::new(wait, move || {
            if generation == self.generation.get_value() {
                spawn_local(self.analyze(generation));
            }
        })
        .forget();
    }

    async fn analyze(self, generation: u64) {
        let text = self.text.get_untracked();
        if text.len() > TEXT_LIMIT {
            self.report.set(None);
            self.diff.set(Vec::new());
            self.trouble.set(format!(
                "This text has {} MB; the playground reads up to 2 MB. Paste one module at a time, or run `hipward check` on the folder.",
                text.len() >> 20
            ));
            self.ready.set(true);
            return;
        }
        let target = self.target.get_untracked();
        let request = AnalyzeRequest {
            source: &text,
            target: &target,
            indices: None,
            up_to: None,
        };
        let answer = ask::<Report>("analyze", &request).await;
        if generation != self.generation.get_value() {
            return;
        }
        match answer {
            Ok((report, json)) => {
                if let Some(editor) = self.editor.get_value() {
                    editor.set_report(&json);
                }
                self.report.set(Some((text.clone(), report)));
            }
            Err(problem) => self.trouble.set(problem),
        }
        self.ready.set(true);
        let before = self.before.get_untracked();
        let diff = if before == text {
            Vec::new()
        } else {
            let request = DiffRequest {
                before: &before,
                after: &text,
            };
            ask("diff", &request).await.map_or(Vec::new(), |(lines, _)| lines)
        };
        if generation == self.generation.get_value() {
            self.diff.set(diff);
        }
    }

    /// Applies one finding's fix.
    pub(super) fn fix(self, index: usize) {
        self.change("apply", Some(vec![index]), None);
    }

    /// Applies every fix that keeps behaviour.
    pub(super) fn fix_all_safe(self) {
        self.change("fix_all", None, Some("safe"));
    }

    /// Adds what the benchmark contract asks for.
    pub(super) fn add_skeleton(self) {
        self.change("skeleton", None, None);
    }

    fn change(self, method: &'static str, indices: Option<Vec<usize>>, up_to: Option<&'static str>) {
        let text = self.text.get_untracked();
        let current = self
            .report
            .with_untracked(|report| report.as_ref().is_some_and(|(of, _)| *of == text));
        if !current {
            // The finding belongs to an older text; its answer is on the way.
            return;
        }
        spawn_local(async move {
            let target = self.target.get_untracked();
            let request = AnalyzeRequest {
                source: &text,
                target: &target,
                indices: indices.as_deref(),
                up_to,
            };
            match ask::<Changed>(method, &request).await {
                Ok((changed, _)) if text == *self.text.read_untracked() => {
                    self.fixed.set_value(true);
                    self.show(changed.source);
                }
                Ok(_) => {}
                Err(problem) => self.trouble.set(problem),
            }
        });
    }

    /// Forgets what stood there before.
    pub(super) fn compare_from_here(self) {
        self.fixed.set_value(false);
        self.before.set(self.text.get_untracked());
        self.diff.set(Vec::new());
    }

    /// Moves the caret to a finding.
    pub(super) fn go_to(self, from: u32, to: u32) {
        if let Some(editor) = self.editor.get_value() {
            editor.select(from, to);
        } else if let Some(area) = self.area.get_untracked() {
            let _ = area.focus();
            let _ = area.set_selection_range(from, to);
        }
    }

    /// Opens what was dropped on the editor.
    pub(super) fn drop_file(self, event: &web_sys::DragEvent) {
        let file = event
            .data_transfer()
            .and_then(|data| data.files())
            .and_then(|files| files.get(0));
        if let Some(file) = file {
            event.prevent_default();
            self.open(file);
        }
    }

    /// Opens a file.
    pub(super) fn open(self, file: web_sys::File) {
        spawn_local(async move {
            match browser::read_file(&file, TEXT_LIMIT).await {
                Ok(text) => self.load(text.as_string().unwrap_or_default()),
                Err(error) => self.trouble.set(browser::sentence(&error)),
            }
        });
    }

    /// Puts text and target into the address and onto the clipboard.
    pub(super) fn share(self) {
        spawn_local(async move {
            let text = self.text.get_untracked();
            let packed = match browser::pack(&text).await {
                Ok(packed) => packed.as_string().unwrap_or_default(),
                Err(error) => return self.trouble.set(browser::sentence(&error)),
            };
            let Some(window) = web_sys::window() else {
                return;
            };
            let location = window.location();
            let fragment = share_fragment(&packed, &self.target.read_untracked());
            if let Ok(history) = window.history() {
                // Unlike setting the hash, this fires no event and adds no entry.
                let _ = history.replace_state_with_url(
                    &JsValue::NULL,
                    "",
                    Some(&format!("#{fragment}")),
                );
            }
            let address = location.href().unwrap_or_default();
            let copied = browser::copy_text(&address).await.is_truthy();
            self.notice.set(if copied {
                "Link copied. It holds the code itself; nothing was uploaded.".to_owned()
            } else {
                "The link is in the address bar. It holds the code itself.".to_owned()
            });
        });
    }

    /// Sends the text to the runner and goes to the job's page.
    pub(super) fn benchmark(self) {
        self.runner.set(Runner::Sending);
        spawn_local(async move {
            let job = JobRequest {
                code: self.text.get_untracked(),
                title: None,
                variants: Vec::new(),
                device: None,
            };
            let answer = runner::submit(&self.base.read_value(), &job).await;
            match (answer, web_sys::window()) {
                (Ok(page), Some(window)) => {
                    let _ = window.location().assign(&page);
                }
                (Ok(_), None) => {}
                (Err(problem), _) => {
                    self.trouble.set(problem);
                    self.runner.set(Runner::Ready);
                }
            }
        });
    }

    /// `3 findings: 1 error, 2 warnings.`
    pub(super) fn summary(self) -> String {
        let report = self.report.read();
        let Some((_, report)) = &*report else {
            return "Reading the code.".to_owned();
        };
        match report.findings.len() {
            0 => format!("No findings for {}.", report.target.arch.name()),
            1 => "1 finding.".to_owned(),
            n => format!("{n} findings."),
        }
    }

    /// Whether the task's rules are all quiet, on a text that reads.
    pub(super) fn solved(self, task: &Task) -> bool {
        self.report.read().as_ref().is_some_and(|(text, report)| {
            !text.trim().is_empty()
                && report.notes.is_empty()
                && report.findings.iter().all(|f| !task.gone.contains(&f.rule))
        })
    }
}

/// Asks the analyzer; answers with what it said, read and as it was.
async fn ask<T: serde::de::DeserializeOwned>(
    method: &str,
    request: &impl Serialize,
) -> Result<(T, String), String> {
    let request = serde_json::to_string(request).map_err(|error| error.to_string())?;
    let answer = browser::ask(method, &request)
        .await
        .map_err(|error| browser::sentence(&error))?;
    let json = answer.as_string().unwrap_or_default();
    let value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    Ok((value, json))
}

/// True when next to nothing of the old text is left at either end.
fn is_new_paste(old: &str, new: &str) -> bool {
    let kept = |a: &mut dyn Iterator<Item = (u8, u8)>| a.take_while(|(x, y)| x == y).count();
    let front = kept(&mut old.bytes().zip(new.bytes()));
    let back = kept(&mut old.bytes().rev().zip(new.bytes().rev()));
    (front + back) * 5 < old.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_is_no_new_paste_and_replacing_everything_is() {
        let old = "import torch\nx = torch.ones(3)\n";
        assert!(!is_new_paste(old, "import torch\nx = torch.ones(33)\n"));
        assert!(is_new_paste(old, "class Model:\n    pass\n"));
        assert!(is_new_paste(old, ""));
    }
}
