//! Analysis of the text, after each change.

use super::fixes::difference;
use super::{DEBOUNCE, Session, TEXT_LIMIT, too_large};
use crate::browser::focus::keep_focus;
use crate::browser::json;
use crate::playground::analyzer::{self, Source};
use gloo_timers::callback::Timeout;
use hipward_analyzer_core::{Judgement, Report, Target};
use js_sys::Date;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Serialize;
use wasm_bindgen::JsValue;

/// The request that judges a text by the conditions of an exercise.
#[derive(Serialize)]
struct JudgeRequest<'a> {
    source: &'a str,
    target: &'a Target,
    exercise: &'a str,
}

impl Session {
    /// Runs the analyzer once nothing has changed for `wait` milliseconds.
    pub(super) fn analyze_after(self, wait: u32) {
        let generation = self.next_generation();
        self.after(wait, generation, move || {
            spawn_local(self.analyze(generation));
        });
    }

    pub(super) fn next_generation(self) -> u64 {
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
    pub(super) fn source(self) -> Source {
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
    pub(super) fn analyze(self, generation: u64) -> impl Future<Output = ()> {
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
}
