//! Checks one file: reads it, applies fixes if requested, analyzes it, and formats the report.

use std::fs;
use std::io::{self, ErrorKind};

use hipward_analyzer::output::{FileReport, Format};
use hipward_analyzer::{Applicability, Report, analyze, fix_all, unified_diff};

use super::args::Mode;
use super::discovery::{Found, plain};
use crate::atomic_write::replace;
use crate::config::{Baselines, Entry};

/// Checks files with the same settings.
pub(super) struct FileChecker<'j> {
    pub(super) mode: Mode,
    /// The least safe applicability of fixes to apply.
    pub(super) fixes: Applicability,
    pub(super) stdin: Option<&'j str>,
    pub(super) baselines: &'j Baselines,
    pub(super) format: Box<dyn Format>,
}

/// The result for one file, without its source.
#[derive(Default)]
pub(super) struct CheckedFile {
    /// The path as it is shown.
    pub(super) path: String,
    /// Text for standard output.
    pub(super) text: String,
    /// The findings that are not in the baseline. None if the file could not be read.
    pub(super) report: Option<Report>,
    /// The number of findings in the baseline.
    pub(super) known: usize,
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
        let (mut source, encoding) = match self.read(found) {
            Ok(read) => read,
            // Removed since its folder was read, such as a temporary file of an editor or a build.
            Err(error) if error.kind() == ErrorKind::NotFound && !found.is_given => return judged,
            Err(error) => {
                let complaint = format!("{shown}: {}", plain(&error));
                judged.complaints.push(complaint);
                return judged;
            }
        };
        // A fix would write the replacement characters.
        let is_text = encoding.is_none();
        if let Some(encoding) = encoding {
            judged.notes.push(format!("{shown}: {encoding}"));
        }
        let options = found.project.options(&found.name, None);
        if is_text && matches!(self.mode, Mode::Fix | Mode::Filter | Mode::Diff) {
            let fixed = fix_all(&source, &options, self.fixes).source;
            if self.mode == Mode::Diff {
                judged.text = unified_diff(&shown, &source, &fixed);
            } else if found.is_stdin() {
                judged.text.clone_from(&fixed);
            } else if fixed != source
                && let Err(error) = replace(&found.path, &fixed)
            {
                let complaint = format!("{shown}: could not be written: {error}");
                judged.complaints.push(complaint);
            }
            source = fixed;
        }
        let mut report = analyze(&source, &options);
        if let Some(path) = &found.project.baseline {
            match self.baselines.load(path) {
                Ok(baseline) => judged.known = baseline.forget(&found.name, &source, &mut report),
                Err(error) => judged.complaints.push(error),
            }
        }
        match self.mode {
            Mode::Baseline => judged.entries = Entry::all(&found.name, &source, &report),
            Mode::Report | Mode::Fix => judged.text = self.write(&shown, &source, &report),
            Mode::Filter | Mode::Diff | Mode::Statistics => {}
        }
        judged.report = Some(report);
        judged
    }

    /// The text of a file, and a note if its encoding is not UTF-8.
    fn read(&self, found: &Found) -> io::Result<(String, Option<String>)> {
        if found.is_stdin() {
            return Ok((self.stdin.unwrap_or_default().to_owned(), None));
        }
        Ok(match String::from_utf8(fs::read(&found.path)?) {
            Ok(text) => (text, None),
            Err(error) => {
                let (text, note) = decoded(error.as_bytes());
                (text, Some(note))
            }
        })
    }

    fn write(&self, path: &str, source: &str, report: &Report) -> String {
        self.format.file(&FileReport {
            path,
            source,
            report,
        })
    }
}

/// The text of a file that is not UTF-8, and the note about it. UTF-16 is decoded if it begins with a byte order mark; in
/// other encodings, characters outside ASCII are replaced.
fn decoded(bytes: &[u8]) -> (String, String) {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            let good = match std::str::from_utf8(bytes) {
                Ok(_) => bytes.len(),
                Err(error) => error.valid_up_to(),
            };
            let line = 1 + bytes[..good].iter().filter(|byte| **byte == b'\n').count();
            let note = format!(
                "not UTF-8 text (line {line}); checked with replacement characters, and not changed by fixes"
            );
            return (String::from_utf8_lossy(bytes).into_owned(), note);
        }
    };
    let units: Vec<u16> = bytes[2..]
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]))
        .collect();
    let note = "UTF-16 text; checked, and not changed by fixes".to_owned();
    (String::from_utf16_lossy(&units), note)
}
