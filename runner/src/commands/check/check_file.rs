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
}

impl FileChecker<'_> {
    pub(super) fn file(&self, found: &Found) -> CheckedFile {
        let shown = found.shown();
        let mut judged = CheckedFile {
            path: shown.clone(),
            ..CheckedFile::default()
        };
        let mut source = match self.read(found) {
            Ok(source) => source,
            // Removed since its folder was read, such as a temporary file of an editor or a build.
            Err(error) if error.kind() == ErrorKind::NotFound && !found.is_given => return judged,
            Err(error) => {
                let complaint = format!("{shown}: {}", plain(&error));
                judged.complaints.push(complaint);
                return judged;
            }
        };
        let options = found.project.options(&found.name, None);
        if matches!(self.mode, Mode::Fix | Mode::Filter | Mode::Diff) {
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

    fn read(&self, found: &Found) -> io::Result<String> {
        if found.is_stdin() {
            return Ok(self.stdin.unwrap_or_default().to_owned());
        }
        String::from_utf8(fs::read(&found.path)?)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, not_utf8(error.as_bytes())))
    }

    fn write(&self, path: &str, source: &str, report: &Report) -> String {
        self.format.file(&FileReport {
            path,
            source,
            report,
        })
    }
}

/// The error message for a file that is not UTF-8.
fn not_utf8(bytes: &[u8]) -> String {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return "not UTF-8 text, but UTF-16; save it as UTF-8 to have it checked".to_owned();
    }
    let good = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let line = 1 + bytes[..good].iter().filter(|byte| **byte == b'\n').count();
    format!("not UTF-8 text (line {line}); save it as UTF-8 to have it checked")
}
