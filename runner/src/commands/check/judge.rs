//! One file: read it, mend it if that is wanted, judge it, and write down what is to be said.

use std::fs;
use std::io::{self, ErrorKind};

use hipward_analyzer::output::{FileReport, Format};
use hipward_analyzer::{Applicability, Report, analyze, fix_all, unified_diff};

use super::args::Mode;
use super::baseline::{Baselines, Entry};
use super::discovery::{Found, plain};
use super::replace::replace;

/// What is done with every file.
pub(super) struct Judge<'j> {
    pub(super) mode: Mode,
    /// The least safe fix that is wanted.
    pub(super) fixes: Applicability,
    pub(super) stdin: Option<&'j str>,
    pub(super) baselines: &'j Baselines,
    pub(super) format: Box<dyn Format>,
}

/// What became of one file. It does not hold the source.
#[derive(Default)]
pub(super) struct Judged {
    /// The file, as it is shown.
    pub(super) path: String,
    /// What goes to standard output.
    pub(super) text: String,
    /// What was found and is not known; none when it could not be read.
    pub(super) report: Option<Report>,
    /// Findings that the baseline knows.
    pub(super) known: usize,
    /// For a new baseline.
    pub(super) entries: Vec<Entry>,
    pub(super) complaints: Vec<String>,
}

impl Judge<'_> {
    pub(super) fn file(&self, found: &Found) -> Judged {
        let shown = found.shown();
        let mut judged = Judged {
            path: shown.clone(),
            ..Judged::default()
        };
        let mut source = match self.read(found) {
            Ok(source) => source,
            // Gone since its folder was read: an editor's or a build's passing file.
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

/// Why a text does not read, and where.
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
