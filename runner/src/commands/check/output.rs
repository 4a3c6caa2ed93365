//! Writes a report to standard output, file by file.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use hipward_analyzer::output::{
    Colour, FileReport, Format, GitHub, Json, Markdown, Sarif, Statistics, Text, summary_markdown,
    summary_text,
};

use hipward_analyzer::Summary;

use super::args::{Format as Asked, Mode};
use super::discovery::Found;

/// The requested output format.
pub(super) fn format(asked: Asked, found: &[Found]) -> Box<dyn Format> {
    match asked {
        Asked::Text => Box::new(Text(colour())),
        Asked::Json => Box::new(Json),
        Asked::Sarif => {
            // Many files share few projects.
            let mut seen = HashSet::new();
            let projects = found.iter().map(|found| &found.project);
            let projects = projects.filter(|project| seen.insert(Arc::as_ptr(project)));
            Box::new(Sarif::new(projects.map(|project| &project.team.rules)))
        }
        Asked::Markdown => Box::new(Markdown),
        Asked::Github => Box::new(GitHub),
    }
}

fn colour() -> Colour {
    // https://no-color.org: any value except an empty one.
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if io::stdout().is_terminal() && !is_unwanted {
        Colour::Ansi
    } else {
        Colour::Plain
    }
}

/// The output of modes without a report.
struct Bare;

impl Format for Bare {
    fn file(&self, _: &FileReport<'_>) -> String {
        String::new()
    }
}

/// A report that is being written.
pub(super) struct Output<'f> {
    format: &'f dyn Format,
    mode: Mode,
    separator: &'static str,
    has_text: bool,
    failure: Option<io::Error>,
    is_closed: bool,
}

impl<'f> Output<'f> {
    pub(super) fn new(format: &'f dyn Format, mode: Mode) -> Self {
        let is_report = matches!(mode, Mode::Report | Mode::Fix | Mode::AddIgnores);
        Output {
            format: if is_report { format } else { &Bare },
            mode,
            separator: "",
            has_text: false,
            failure: None,
            is_closed: false,
        }
    }

    pub(super) fn begin(&mut self) {
        let begin = self.format.begin();
        self.write(begin.as_bytes());
    }

    /// Writes the part of a file.
    pub(super) fn part(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        self.has_text = true;
        let separator = std::mem::replace(&mut self.separator, self.format.separator());
        self.write(separator.as_bytes());
        self.write(text);
    }

    /// Writes the end of the report.
    pub(super) fn end(&mut self, statistics: &Statistics, asked: Asked, project: Option<Summary>) {
        let mut end = self.format.end(statistics);
        match (self.mode, asked) {
            (Mode::Statistics, Asked::Json) => end = statistics.json(),
            (Mode::Statistics, _) => end = statistics.table(),
            (Mode::Report | Mode::Fix | Mode::AddIgnores, Asked::Text) => {
                end = statistics.summary()
            }
            _ => {}
        }
        if let (Mode::Report, Some(project)) = (self.mode, project) {
            match asked {
                Asked::Text => end = format!("{}{end}", summary_text(&project)),
                Asked::Markdown => end.push_str(&summary_markdown(&project)),
                _ => {}
            }
        }
        self.write(end.as_bytes());
    }

    /// Whether any file had output.
    pub(super) fn printed_something(&self) -> bool {
        self.has_text
    }

    /// The error that stopped the output.
    pub(super) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    fn write(&mut self, text: &[u8]) {
        if self.is_closed || text.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(text).and_then(|()| stdout.flush()) {
            self.is_closed = true;
            // A closed pipe (`| head`) is not an error.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(error);
            }
        }
    }
}
