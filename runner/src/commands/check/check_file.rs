//! Checks one file: reads it, applies fixes if requested, analyzes it, and formats the report.

use std::cell::LazyCell;
use std::io::{self, ErrorKind};
use std::path::Path;

use hipward_analyzer::output::{FileReport, Format};
use hipward_analyzer::{
    Applicability, Language, Report, add_ignores, analyze, fix_all, unified_diff,
};

use super::args::Mode;
use super::cache::Cache;
use super::discovery::{Found, plain};
use crate::atomic_write::replace;
use crate::config::{Baselines, Entry};
use crate::source_file;
use crate::text_encoding::{Decoded, Encoding, decode};

/// Checks files with the same settings.
pub(super) struct FileChecker<'j> {
    pub(super) mode: Mode,
    /// The least safe applicability of fixes to apply.
    pub(super) fixes: Applicability,
    pub(super) stdin: Option<&'j [u8]>,
    /// The reason in the comments of [`Mode::AddIgnores`].
    pub(super) reason: &'j str,
    pub(super) baselines: &'j Baselines,
    /// `None` in modes that change files.
    pub(super) cache: Option<&'j Cache>,
    pub(super) format: Box<dyn Format>,
}

/// The result for one file, without its source.
#[derive(Default)]
pub(super) struct CheckedFile {
    /// The path as it is shown.
    pub(super) path: String,
    /// The part for standard output: text, or a fixed source in its own encoding.
    pub(super) text: Vec<u8>,
    /// The findings that are not in the baseline. None if the file could not be read.
    pub(super) report: Option<Report>,
    /// The number of findings in the baseline.
    pub(super) known: usize,
    /// The number of findings that got a suppression comment.
    pub(super) ignored: usize,
    /// Entries for a new baseline.
    pub(super) entries: Vec<Entry>,
    pub(super) complaints: Vec<String>,
    /// Messages that are no errors.
    pub(super) notes: Vec<String>,
}

impl FileChecker<'_> {
    pub(super) fn file(&self, found: &Found) -> CheckedFile {
        let shown = found.shown();
        let mut judged = CheckedFile {
            path: shown.clone(),
            ..CheckedFile::default()
        };
        let settings = found.project.settings(&found.name, found.language);
        let cached = match self.cache {
            Some(cache) if !found.is_stdin() => cache.file(&found.path, &settings),
            _ => None,
        };
        // Searching the facts about the project takes longer than reading the file.
        let options = LazyCell::new(|| found.project.with_context(&found.name, settings));
        // A baseline is compared with the source.
        let is_compared = found.project.baseline.is_some();
        let known = cached
            .as_ref()
            .filter(|_| !is_compared)
            .and_then(|cached| cached.clean(|| &options));
        let read = match known {
            Some(_) => Ok(decode(Vec::new(), false)),
            None => self.read(found),
        };
        let Decoded {
            text: mut source,
            encoding,
            note,
        } = match read {
            Ok(read) => read,
            // Removed since its folder was read, such as a temporary file of an editor or a build.
            Err(error) if error.kind() == ErrorKind::NotFound && !found.is_given => return judged,
            Err(error) => {
                let message = format!("{shown}: {}", plain(&error));
                match error.kind() {
                    ErrorKind::FileTooLarge => judged.notes.push(message),
                    _ => judged.complaints.push(message),
                }
                return judged;
            }
        };
        let has_note = note.is_some();
        if let Some(note) = note {
            judged.notes.push(format!("{shown}: {note}"));
        }
        let changed = match self.mode {
            // A change would write the replacement characters.
            _ if encoding == Encoding::Lossy => None,
            Mode::Fix | Mode::Filter | Mode::Diff => {
                Some(fix_all(&source, &options, self.fixes).source)
            }
            Mode::AddIgnores => {
                let with_comments = add_ignores(&source, &options, self.reason);
                judged.ignored = with_comments.added;
                Some(with_comments.source)
            }
            Mode::Report | Mode::Statistics | Mode::Baseline => None,
        };
        if let Some(changed) = changed {
            match encoding.encode(&changed, &source) {
                Some(bytes) => {
                    self.write_changed(found, &source, &changed, encoding, &bytes, &mut judged);
                    source = changed;
                }
                None => {
                    let complaint = format!(
                        "{shown}: not changed: the result has characters that the file's encoding may not have"
                    );
                    judged.complaints.push(complaint);
                    judged.ignored = 0;
                }
            }
        }
        if self.mode == Mode::Filter && judged.text.is_empty() {
            judged.text = self.stdin.unwrap_or_default().to_vec();
        }
        let analyze = || analyze(&source, &options);
        let mut report = match (known, &cached) {
            (Some(report), _) => report,
            (None, Some(cached)) if !has_note => cached.report(&source, || &options, analyze),
            (None, _) => analyze(),
        };
        if let Some(path) = &found.project.baseline {
            match self.baselines.load(path) {
                Ok(baseline) => judged.known = baseline.forget(&found.name, &source, &mut report),
                Err(error) => judged.complaints.push(error),
            }
        }
        match self.mode {
            Mode::Baseline => judged.entries = Entry::all(&found.name, &source, &report),
            Mode::Report | Mode::Fix | Mode::AddIgnores => {
                judged.text = self.write(&shown, &source, &report).into_bytes();
            }
            Mode::Filter | Mode::Diff | Mode::Statistics => {}
        }
        judged.report = Some(report);
        judged
    }

    /// Writes a changed source to its file or to standard output, or the difference as a patch.
    fn write_changed(
        &self,
        found: &Found,
        source: &str,
        changed: &str,
        encoding: Encoding,
        bytes: &[u8],
        judged: &mut CheckedFile,
    ) {
        if self.mode == Mode::Diff {
            let patch = unified_diff(&judged.path, source, changed);
            judged.text = encoding.encode_patch(&patch, source);
        } else if found.is_stdin() {
            judged.text = bytes.to_vec();
        } else if changed != source
            && let Err(error) = replace(&found.path, bytes)
        {
            let complaint = format!("{}: could not be written: {error}", judged.path);
            judged.complaints.push(complaint);
            judged.ignored = 0;
        }
    }

    /// The text of a file or of standard input.
    fn read(&self, found: &Found) -> io::Result<Decoded> {
        let bytes = if found.is_stdin() {
            self.stdin.unwrap_or_default().to_vec()
        } else {
            source_file::read(&found.path)?
        };
        Ok(decode(bytes, is_python(&found.name)))
    }

    fn write(&self, path: &str, source: &str, report: &Report) -> String {
        self.format.file(&FileReport {
            path,
            source,
            report,
        })
    }
}

/// Whether a file is Python, by its name. Standard input without a name may be.
fn is_python(name: &Path) -> bool {
    let language = Language::of_path(&name.to_string_lossy());
    language.is_none_or(|language| language == Language::Python)
}
