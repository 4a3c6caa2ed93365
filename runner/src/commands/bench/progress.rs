//! Shows the progress of a job on standard error: a table that is redrawn in a terminal, lines otherwise.

use hipward_protocol::{Event, EventBody, JobView, LogStream, VariantId, VariantStatus};
use hipward_site::{benchmark_line, benchmark_sentence, benchmark_table};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    collections::HashSet,
    io::{IsTerminal, stderr},
};

/// How the progress is shown.
pub(super) enum Progress {
    Quiet,
    Table(ProgressBar),
    Lines {
        sentence: String,
        /// Variants whose line was printed.
        printed_variants: HashSet<VariantId>,
    },
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Progress {
        if quiet {
            return Progress::Quiet;
        }
        if !stderr().is_terminal() {
            return Progress::Lines {
                sentence: String::new(),
                printed_variants: HashSet::new(),
            };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Progress::Table(bar)
    }

    /// Updates the display after an event.
    pub(super) fn show(&mut self, event: &Event, view: &JobView) {
        match self {
            Progress::Quiet => {}
            Progress::Table(bar) => {
                if let Some(text) = printed(event) {
                    bar.suspend(|| eprint!("{text}"));
                }
                let table = benchmark_table(view);
                let text = format!("{}\n{table}", benchmark_sentence(view));
                bar.set_message(text.trim_end().to_owned());
            }
            Progress::Lines {
                sentence,
                printed_variants,
            } => {
                if let Some(text) = printed(event) {
                    eprint!("{text}");
                }
                let now = benchmark_sentence(view);
                // The last sentence is part of the result.
                if now != *sentence && !view.state.is_final() {
                    eprintln!("{now}");
                    *sentence = now;
                }
                for row in &view.variants {
                    let is_done =
                        !matches!(row.status, VariantStatus::Checked | VariantStatus::Sampling);
                    if is_done && printed_variants.insert(row.variant.clone()) {
                        eprintln!("{}", benchmark_line(view, row));
                    }
                }
            }
        }
    }

    /// Removes the display before the result is printed.
    pub(super) fn end(self) {
        if let Progress::Table(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// The output of the snippet for a terminal: whole lines without control characters.
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
