//! A document that is open in the editor: its text, and what was found in this text.

use std::path::PathBuf;

use gen_lsp_types::Range;
use hipward_analyzer::{Language, Options, Report};

use super::text::{Encoding, Lines};
use super::uri;

/// An open document.
pub(super) struct Document {
    pub(super) version: i32,
    pub(super) text: String,
    /// None for one that was never saved.
    pub(super) path: Option<PathBuf>,
    /// None for one that the analyzer does not read.
    pub(super) language: Option<Language>,
    judged: Judged,
}

enum Judged {
    /// Not since the text changed.
    NotYet,
    /// Nothing is to be said of it: another language, excluded, or a broken configuration.
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
            judged: Judged::NotYet,
        }
    }

    pub(super) fn set_text(&mut self, text: String) {
        self.text = text;
        self.judged = Judged::NotYet;
    }

    /// Puts `text` in the place of a range.
    pub(super) fn replace(&mut self, range: Range, text: &str, encoding: Encoding) {
        let lines = Lines::new(&self.text, encoding);
        let start = lines.byte(range.start);
        let end = lines.byte(range.end).max(start);
        self.text.replace_range(start..end, text);
        self.judged = Judged::NotYet;
    }

    /// The report of the present text, and how it was made.
    pub(super) fn judged(&self) -> Option<(&Report, &Options)> {
        match &self.judged {
            Judged::Report(judged) => Some((&judged.0, &judged.1)),
            Judged::NotYet | Judged::Silent => None,
        }
    }

    pub(super) fn set_judged(&mut self, judged: Option<(Report, Options)>) {
        self.judged = match judged {
            Some(judged) => Judged::Report(Box::new(judged)),
            None => Judged::Silent,
        };
    }

    pub(super) fn forget_judged(&mut self) {
        self.judged = Judged::NotYet;
    }

    /// True until a report was tried for the present text.
    pub(super) fn is_unjudged(&self) -> bool {
        matches!(self.judged, Judged::NotYet)
    }
}

/// The language of a document by what the editor calls it.
fn by_editor(language: &str) -> Option<Language> {
    match language {
        "python" => Some(Language::Python),
        "cuda" | "cuda-cpp" => Some(Language::CudaCpp),
        "dockerfile" => Some(Language::Dockerfile),
        "cmake" => Some(Language::Cmake),
        _ => None,
    }
}
