//! `hipward check`: analyzes files, with the output and exit codes of a linter.
//!
//! Exit codes: 0, no findings other than information; 1, other findings; 2, an invalid path, option or configuration file.
//!
//! Files are checked in parallel and reported in order. After a file is reported, only its counts are kept in memory.

mod args;
mod cache;
mod check_file;
mod discovery;
mod git_index;
mod output;
mod parallel;
pub(crate) mod plan;
mod progress;
mod watch;

pub(crate) use args::Args;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use hipward_analyzer::Survey;
use hipward_analyzer::output::{REPORT_SCHEMA, Statistics};

use crate::config::{Baselines, NewBaseline, Projects};
use args::{Format, Mode};
use cache::Cache;
use check_file::{CheckedFile, FileChecker};
use discovery::{Found, STDIN, discover};
use output::Output;
use watch::Watch;

/// Checks, prints the report, and returns the exit code.
pub(crate) fn run(args: Args) -> ExitCode {
    if args.schema {
        return print_schema();
    }
    let mut check = match Check::new(args) {
        Ok(check) => check,
        Err(message) => {
            eprintln!("hipward: {message}");
            return ExitCode::from(2);
        }
    };
    if check.args.watch {
        return match check.watch() {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("hipward: {message}");
                ExitCode::from(2)
            }
        };
    }
    check.once()
}

fn print_schema() -> ExitCode {
    // A closed pipe (`| head`) is not an error.
    let _ = io::stdout().write_all(REPORT_SCHEMA.as_bytes());
    ExitCode::SUCCESS
}

/// A check of some paths, once or repeatedly.
struct Check {
    args: Args,
    mode: Mode,
    projects: Projects,
    /// The content of standard input, which can be read only once.
    stdin: Option<Vec<u8>>,
}

impl Check {
    fn new(args: Args) -> Result<Check, String> {
        let mode = args.mode()?;
        let projects = Projects::new(args.overrides());
        // Errors of the command line are reported once, before anything is read.
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        if let Err(error @ crate::config::ProjectError::Rule(_)) = projects.of_folder(&here) {
            return Err(error.to_string());
        }
        let mut stdin = None;
        if args.paths.iter().any(|path| path.as_os_str() == STDIN) {
            let mut text = Vec::new();
            io::Read::read_to_end(&mut io::stdin(), &mut text)
                .map_err(|error| format!("standard input: {error}"))?;
            stdin = Some(text);
        }
        Ok(Check {
            args,
            mode,
            projects,
            stdin,
        })
    }

    /// Checks all files of the paths.
    fn once(&mut self) -> ExitCode {
        let mut failed = false;
        let found = discover(
            &self.args.paths,
            self.args.force_exclude,
            self.args.stdin_filename.as_deref(),
            &self.projects,
            &mut |message| failed |= message.print(),
        );
        if found.is_empty() {
            if !failed {
                eprintln!("hipward: there are no files that it can check");
            } else if self.args.format == Format::Text {
                // An empty table would look like a result.
                return ExitCode::from(2);
            }
        }
        // A folder is a project, for which a summary is printed.
        let is_project = self.args.paths.iter().any(|path| path.is_dir());
        self.files(&found, is_project.then(Survey::default), failed)
    }

    /// Checks these files and prints the report.
    fn files(&self, found: &[Found], mut survey: Option<Survey>, mut failed: bool) -> ExitCode {
        let complain = |message: &str| eprintln!("hipward: {message}");
        let baselines = Baselines::default();
        let cache = survey.as_ref().and_then(|_| self.cache());
        let judge = FileChecker {
            mode: self.mode,
            fixes: self.args.applicability(),
            stdin: self.stdin.as_deref(),
            reason: self.args.add_ignores.as_deref().unwrap_or_default(),
            baselines: &baselines,
            cache: cache.as_ref(),
            format: output::format(self.args.format, found),
        };
        let mut new_baseline = self.args.write_baseline.as_deref().map(NewBaseline::new);
        let mut statistics = Statistics::default();
        let mut ignored = 0;
        let mut out = Output::new(&*judge.format, self.mode);
        let bar = progress::bar(found.len() as u64, self.args.quiet);
        out.begin();
        parallel::in_order(
            found,
            self.args.jobs,
            |found| judge.file(found),
            |judged: CheckedFile| {
                bar.inc(1);
                for message in &judged.notes {
                    bar.suspend(|| complain(message));
                }
                for message in &judged.complaints {
                    bar.suspend(|| complain(message));
                    failed = true;
                }
                if let Some(report) = &judged.report {
                    statistics.add(report);
                    if let Some(survey) = &mut survey {
                        survey.add(&judged.path, report);
                    }
                    statistics.known += judged.known;
                    ignored += judged.ignored;
                }
                if let Some(baseline) = &mut new_baseline {
                    baseline.add(judged.entries);
                }
                bar.suspend(|| out.part(&judged.text));
            },
        );
        bar.finish_and_clear();
        if let Some(cache) = cache {
            cache.save(self.projects.reads().into_iter());
        }
        if let Some(baseline) = new_baseline {
            return self.write_baseline(baseline, failed);
        }
        out.end(&statistics, self.args.format, survey.map(Survey::finish));
        if self.mode == Mode::AddIgnores {
            complain(&format!("comments suppress {ignored} findings now"));
        }
        if let Some(error) = out.failure() {
            complain(&format!("could not print: {error}"));
            failed = true;
        }
        let is_found = match self.mode {
            Mode::Diff => out.printed_something(),
            _ => statistics.is_failure(),
        };
        match (failed, is_found && !self.args.exit_zero) {
            (true, _) => ExitCode::from(2),
            (false, true) => ExitCode::from(1),
            (false, false) => ExitCode::SUCCESS,
        }
    }

    /// The cache of a check of folders.
    fn cache(&self) -> Option<Cache> {
        let is_used = !self.args.no_cache && !self.args.watch && self.mode.only_reads();
        let options = || format!("{:?}", self.args.overrides());
        is_used
            .then(|| Cache::open(self.args.cache_dir.as_deref(), &self.args.paths, &options()))?
    }

    fn write_baseline(&self, baseline: NewBaseline, failed: bool) -> ExitCode {
        match baseline.write() {
            Ok((path, count)) => {
                eprintln!("hipward: {count} findings are in {} now", path.display());
                if failed {
                    ExitCode::from(2)
                } else {
                    ExitCode::SUCCESS
                }
            }
            Err(message) => {
                eprintln!("hipward: {message}");
                ExitCode::from(2)
            }
        }
    }

    /// Checks everything, and then files that change. Watching starts first, so that no change is missed in between.
    fn watch(&mut self) -> Result<(), String> {
        let mut watch = Watch::new(&self.args.paths)?;
        self.once();
        watch.add_rules(self.projects.rule_folders())?;
        eprintln!("hipward: watching for changes; press Ctrl-C to stop");
        while let Some(changes) = watch.next() {
            // The files around a changed file may have changed too.
            self.projects.reload();
            if changes.configuration {
                clear();
                self.once();
                watch.add_rules(self.projects.rule_folders())?;
                continue;
            }
            let mut failed = false;
            let found: Vec<_> = discover(
                &self.args.paths,
                self.args.force_exclude,
                None,
                &self.projects,
                &mut |message| failed |= message.print(),
            )
            .into_iter()
            .filter(|found| changes.touch(&found.path))
            .collect();
            if !found.is_empty() {
                clear();
                self.files(&found, None, failed);
            }
        }
        Ok(())
    }
}

/// Clears the terminal, so that it shows only the current state.
fn clear() {
    if io::stdout().is_terminal() {
        print!("\x1b[2J\x1b[H");
    }
}
