//! Applies fixes and undoes them.

use super::Session;
use crate::browser::focus::keep_focus;
use crate::playground::analyzer::{self, Changed};
use crate::playground::findings;
use hipward_analyzer_core::{Applicability, DiffKind, DiffLine, Fix};
use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Serialize;

#[derive(Serialize)]
struct DiffRequest<'a> {
    before: &'a str,
    after: &'a str,
}

impl Session {
    /// The fix of the finding at an index. `None` for a report of an older text, whose indices may differ.
    fn fix(self, index: usize) -> Option<Fix> {
        if !self.state.is_fresh.get_untracked() {
            return None;
        }
        let report = self.state.report;
        report.with_untracked(|report| report.as_ref()?.findings.get(index)?.fix.clone())
    }

    /// Whether the fix of a finding may change behaviour.
    pub(super) fn is_unsafe(self, index: usize) -> bool {
        let fix = self.fix(index);
        fix.is_some_and(|fix| fix.applicability == Applicability::Unsafe && !fix.edits.is_empty())
    }

    /// Applies the fix of a finding if it keeps behaviour; otherwise shows its changes.
    pub(crate) fn choose_fix(self, index: usize) {
        if self.is_unsafe(index) {
            findings::open_change(index);
        } else {
            self.apply_fix(index);
        }
    }

    /// Applies the fix of a finding.
    pub(crate) fn apply_fix(self, index: usize) {
        if let Some(fix) = self.fix(index) {
            let sentence = format!("Applied: {}.", fix.title);
            spawn_local(self.change("apply", vec![index], sentence));
        }
    }

    /// Applies the fixes of the findings at indices, which are of one rule.
    pub(crate) fn apply_fixes(self, indices: Vec<usize>, rule: &str) {
        if self.state.is_fresh.get_untracked() {
            let sentence = format!("Applied the fixes of {rule}.");
            spawn_local(self.change("apply", indices, sentence));
        }
    }

    /// Applies every fix that keeps behaviour.
    pub(crate) fn apply_safe_fixes(self) {
        let sentence = "Applied all safe fixes.".to_owned();
        spawn_local(self.change("fix_all", Vec::new(), sentence));
    }

    /// Adds the parts of the benchmark contract that are missing.
    pub(crate) fn add_skeleton(self) {
        let sentence = "Added the missing parts.".to_owned();
        spawn_local(self.change("skeleton", Vec::new(), sentence));
    }

    /// Reads the changes that the fix of a finding would make into `lines`, or empties `lines` if they are there.
    pub(crate) fn toggle_change(self, index: usize, lines: RwSignal<Vec<DiffLine>>) {
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
    pub(crate) fn undo(self) {
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
    pub(crate) fn key(self, event: &ev::KeyboardEvent) {
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
}

/// The diff of two texts; empty if the analyzer does not answer.
pub(super) async fn difference(before: &str, after: &str) -> Vec<DiffLine> {
    let request = DiffRequest { before, after };
    analyzer::ask("diff", &request).await.unwrap_or_default()
}
