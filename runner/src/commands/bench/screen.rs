//! A job while it runs, on standard error: a table that is redrawn where a person looks, lines in a log.

use hipward_protocol::{Event, EventBody, JobView, LogStream, VariantId, VariantStatus};
use hipward_site::{benchmark_line, benchmark_sentence, benchmark_table};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    collections::HashSet,
    io::{IsTerminal, stderr},
};

/// Where a job is shown.
pub(super) enum Screen {
    Quiet,
    Table(ProgressBar),
    Lines {
        sentence: String,
        /// Variants that are done with.
        told: HashSet<VariantId>,
    },
}

impl Screen {
    pub(super) fn new(quiet: bool) -> Screen {
        if quiet {
            return Screen::Quiet;
        }
        if !stderr().is_terminal() {
            return Screen::Lines {
                sentence: String::new(),
                told: HashSet::new(),
            };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Screen::Table(bar)
    }

    /// Shows what an event has made of the job.
    pub(super) fn show(&mut self, event: &Event, view: &JobView) {
        match self {
            Screen::Quiet => {}
            Screen::Table(bar) => {
                if let Some(text) = printed(event) {
                    bar.suspend(|| eprint!("{text}"));
                }
                let table = benchmark_table(view);
                let text = format!("{}\n{table}", benchmark_sentence(view));
                bar.set_message(text.trim_end().to_owned());
            }
            Screen::Lines { sentence, told } => {
                if let Some(text) = printed(event) {
                    eprint!("{text}");
                }
                let now = benchmark_sentence(view);
                // The last one is the result's.
                if now != *sentence && !view.state.is_final() {
                    eprintln!("{now}");
                    *sentence = now;
                }
                for row in &view.variants {
                    let is_done =
                        !matches!(row.status, VariantStatus::Checked | VariantStatus::Sampling);
                    if is_done && told.insert(row.variant.clone()) {
                        eprintln!("{}", benchmark_line(view, row));
                    }
                }
            }
        }
    }

    /// Makes room for the result.
    pub(super) fn end(self) {
        if let Screen::Table(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// What the snippet wrote, for a terminal: whole lines, and nothing that steers it.
fn printed(event: &Event) -> Option<String> {
    let EventBody::Log { stream, text } = &event.body else {
        return None;
    };
    let who = match stream {
        LogStream::Stdout | LogStream::Stderr => "snippet",
        LogStream::Runner => "runner",
    };
    let line = |line: &str| {
        let plain = |c: char| c == '\t' || !c.is_control();
        let line: String = line.chars().filter(|c| plain(*c)).collect();
        format!("{who} | {line}\n")
    };
    Some(text.lines().map(line).collect())
}
