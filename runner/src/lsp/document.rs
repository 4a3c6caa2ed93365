//! A document that is open in the editor: its text and its report.

use std::path::PathBuf;

use gen_lsp_types::Range;
use hipward_analyzer::{Language, Options, Report, Session};

use super::text::{Encoding, Lines};
use super::uri;

/// An open document.
pub(super) struct Document {
    pub(super) version: i32,
    pub(super) text: String,
    /// None for a document that was never saved.
    pub(super) path: Option<PathBuf>,
    /// None for a language that the analyzer does not support.
    pub(super) language: Option<Language>,
    /// Parses only what changed since the last report.
    session: Session,
    checked: CheckState,
}

enum CheckState {
    /// Not since the text changed.
    NotYet,
    /// It has no report: unsupported language, excluded, or an invalid configuration.
    Silent,
    Report(Box<(Report, Options)>),
}

impl Document {
    pub(super) fn new(uri: &str, language: &str, version: i32, text: String) -> Document {
        let path = uri::path(uri);
        let by_name = path
            .as_deref()
            .and_then(|path| Language::of_path(&path.to_string_lossy()));
        Document {
            version,
            text,
            language: by_name.or_else(|| by_editor(language)),
            path,
            session: Session::default(),
            checked: CheckState::NotYet,
        }
    }

    pub(super) fn set_text(&mut self, text: String) {
        self.text = text;
        self.checked = CheckState::NotYet;
    }

    /// Replaces a range by `text`.
    pub(super) fn replace(&mut self, range: Range, text: &str, encoding: Encoding) {
        let lines = Lines::new(&self.text, encoding);
        let start = lines.byte(range.start);
        let end = lines.byte(range.end).max(start);
        self.text.replace_range(start..end, text);
        self.checked = CheckState::NotYet;
    }

    /// Analyzes the current text.
    pub(super) fn analyze(&mut self, options: &Options) -> Report {
        self.session.analyze(&self.text, options)
    }

    /// The report of the current text, and the options it was made with.
    pub(super) fn checked(&self) -> Option<(&Report, &Options)> {
        match &self.checked {
            CheckState::Report(checked) => Some((&checked.0, &checked.1)),
            CheckState::NotYet | CheckState::Silent => None,
        }
    }

    pub(super) fn set_report(&mut self, checked: Option<(Report, Options)>) {
        self.checked = match checked {
            Some(checked) => CheckState::Report(Box::new(checked)),
            None => CheckState::Silent,
        };
    }

    pub(super) fn clear_report(&mut self) {
        self.checked = CheckState::NotYet;
    }

    /// Whether the current text has not been checked.
    pub(super) fn is_unchecked(&self) -> bool {
        matches!(self.checked, CheckState::NotYet)
    }
}

/// The language of a document by the editor's language id.
fn by_editor(language: &str) -> Option<Language> {
    match language {
        "python" => Some(Language::Python),
        "cuda" | "cuda-cpp" => Some(Language::CudaCpp),
        "dockerfile" => Some(Language::Dockerfile),
        "cmake" => Some(Language::Cmake),
        "makefile" => Some(Language::Makefile),
        "markdown" | "restructuredtext" | "rst" => Some(Language::Document),
        _ => None,
    }
}
