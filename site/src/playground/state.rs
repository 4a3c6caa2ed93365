//! The state that the page shows, as signals.

use super::document::Document;
use super::project::Project;
use hipward_analyzer_core::{DiffLine, Judgement, Language, Report, Target};
use leptos::prelude::*;

/// The signals of a playground.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) document: RwSignal<Document>,
    pub(super) target: RwSignal<Target>,
    /// The language that the reader chose; `None` to detect it.
    pub(super) language: RwSignal<Option<Language>>,
    /// The open folder.
    pub(super) project: RwSignal<Option<Project>>,
    /// The newest report, which may be of an older text.
    pub(super) report: RwSignal<Option<Report>>,
    /// Whether the report is of the current text.
    pub(super) is_fresh: RwSignal<bool>,
    /// The changes of the document.
    pub(super) diff: RwSignal<Vec<DiffLine>>,
    pub(super) task: RwSignal<Option<Task>>,
    /// What failed, in a sentence.
    pub(super) error: RwSignal<String>,
    /// What was done, in a sentence.
    pub(super) notice: RwSignal<String>,
    pub(super) runner: RwSignal<Runner>,
    pub(super) order: RwSignal<Order>,
    /// The family whose findings are shown, by [`findings::family`](super::findings::family); `None` for all.
    pub(super) family: RwSignal<Option<char>>,
    /// The fix whose changes are shown in its card.
    pub(super) preview: RwSignal<Option<Preview>>,
    /// The last change that was not typed, which can be undone.
    pub(super) applied: RwSignal<Option<Applied>>,
}

/// The order of the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// By severity, then by line.
    #[default]
    Severity,
    Line,
}

/// The changes that a fix would make.
#[derive(Clone, Debug)]
pub(super) struct Preview {
    /// The index of the finding in the report.
    pub(super) index: usize,
    /// The diff; empty until the analyzer has answered.
    pub(super) lines: Vec<DiffLine>,
}

/// A change to the text by fixes or by the skeleton.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// What was done, in a sentence.
    pub(super) sentence: String,
    /// The text before it.
    pub(super) before: String,
}

/// The exercise of a lesson.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) text: String,
    /// Its conditions as JSON, for the analyzer.
    pub(super) exercise: String,
    /// The address of its lesson; empty if the link does not name one.
    pub(super) lesson: String,
    /// The state of each condition for the newest text; `None` before the first answer.
    pub(super) judgement: Option<Judgement>,
}

/// Whether a benchmark can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// The site is being queried.
    Unknown,
    Absent,
    NotReady,
    Ready,
    /// A job is being sent.
    Sending,
}

impl State {
    pub(super) fn new() -> Self {
        State {
            document: RwSignal::default(),
            target: RwSignal::default(),
            language: RwSignal::default(),
            project: RwSignal::new(None),
            report: RwSignal::new(None),
            is_fresh: RwSignal::new(false),
            diff: RwSignal::default(),
            task: RwSignal::new(None),
            error: RwSignal::default(),
            notice: RwSignal::default(),
            runner: RwSignal::new(Runner::Unknown),
            order: RwSignal::default(),
            family: RwSignal::new(None),
            preview: RwSignal::new(None),
            applied: RwSignal::new(None),
        }
    }

    /// Changes the document. The report is then of an older text, and earlier messages no longer apply.
    pub(super) fn change_document(&self, change: impl FnOnce(&mut Document)) {
        self.document.update(change);
        self.is_fresh.set(false);
        self.clear_messages();
        close(self.preview);
        close(self.applied);
    }

    pub(super) fn clear_messages(&self) {
        clear(self.error);
        clear(self.notice);
    }

    /// Shows what failed.
    pub(super) fn fail(&self, sentence: impl Into<String>) {
        self.error.set(sentence.into());
        clear(self.notice);
    }
}

/// Empties a signal without notifying its readers if it is empty already.
pub(super) fn close<T: Send + Sync + 'static>(signal: RwSignal<Option<T>>) {
    if signal.with_untracked(Option::is_some) {
        signal.set(None);
    }
}

fn clear(message: RwSignal<String>) {
    if message.with_untracked(|message| !message.is_empty()) {
        message.set(String::new());
    }
}
