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
    /// Description of a failure.
    pub(super) error: RwSignal<String>,
    /// Description of the last action.
    pub(super) notice: RwSignal<String>,
    /// The address of a page that the browser did not let the script open.
    pub(super) unopened: RwSignal<String>,
    pub(super) runner: RwSignal<Runner>,
    /// The name of the runner. Empty if the site has only its own.
    pub(super) runner_name: RwSignal<String>,
    /// Which findings are listed and how: empty for all by severity, [`BY_LINE`], or the family of those to show.
    pub(super) listing: RwSignal<String>,
    /// The last change by fixes, in a sentence; empty after any other change.
    pub(super) applied: RwSignal<String>,
}

/// Lists all findings by line.
pub(super) const BY_LINE: &str = "line";

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
            unopened: RwSignal::default(),
            runner: RwSignal::new(Runner::Unknown),
            runner_name: RwSignal::new(String::new()),
            listing: RwSignal::default(),
            applied: RwSignal::default(),
        }
    }

    /// Changes the document. The report is then of an older text, and earlier messages no longer apply.
    pub(super) fn change_document(&self, change: impl FnOnce(&mut Document)) {
        self.document.update(change);
        self.is_fresh.set(false);
        self.clear_messages();
    }

    pub(super) fn clear_messages(&self) {
        clear(self.error);
        clear(self.notice);
        clear(self.unopened);
        clear(self.applied);
    }

    /// Shows what failed.
    pub(super) fn fail(&self, sentence: impl Into<String>) {
        self.error.set(sentence.into());
        clear(self.notice);
        clear(self.unopened);
    }
}

fn clear(message: RwSignal<String>) {
    if message.with_untracked(|message| !message.is_empty()) {
        message.set(String::new());
    }
}
