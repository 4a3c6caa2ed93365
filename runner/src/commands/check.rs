//! `hipward check`: the analyzer over files, with a linter's output and exit codes.
//!
//! 0: nothing found. 1: findings. 2: a path or an option that does not work.

mod files;

use std::cell::Cell;
use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use hipward_analyzer::output::{self, Colour, FileReport};
use hipward_analyzer::{
    Applicability, Arch, Options, Report, Selection, Severity, Target, Version, analyze, fix_all,
    unified_diff,
};

/// `-` on the command line: the source comes on standard input.
const STDIN: &str = "-";

/// Options of `hipward check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files and folders; a folder's .py files are read, but for those that .gitignore names. `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// GPU architecture to judge for
    #[arg(long, value_name = "GFX", default_value_t = Named(Target::default().arch), value_parser = parse_arch)]
    target: Named,
    /// ROCm version to judge for
    #[arg(long, value_name = "VERSION", default_value_t = Target::default().rocm, value_parser = parse_version)]
    rocm: Version,
    /// PyTorch version to judge for
    #[arg(long, value_name = "VERSION", default_value_t = Target::default().torch, value_parser = parse_version)]
    torch: Version,
    /// Python version to judge for
    #[arg(long, value_name = "VERSION", default_value_t = Target::default().python, value_parser = parse_version)]
    python: Version,
    /// Run only these rules: names, ids, or the beginning of an id such as HW1
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Write safe fixes into the files
    #[arg(long)]
    fix: bool,
    /// With --fix or --diff: the unsafe fixes too
    #[arg(long)]
    unsafe_fixes: bool,
    /// Print what --fix would change as a patch, and write nothing
    #[arg(long)]
    diff: bool,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with 0 even when something is found
    #[arg(long)]
    exit_zero: bool,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the lines in question
    Text,
    /// An array of files, each with its report
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

/// An architecture that prints as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named(Arch);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

fn parse_arch(text: &str) -> Result<Named, String> {
    Arch::ALL
        .into_iter()
        .find(|arch| arch.name() == text)
        .map(Named)
        .ok_or_else(|| format!("it is one of {}", Arch::ALL.map(Arch::name).join(", ")))
}

fn parse_version(text: &str) -> Result<Version, String> {
    Version::try_from(text.to_owned())
}

/// A file that was read and judged.
struct Checked {
    path: String,
    source: String,
    report: Report,
}

/// Checks, prints, and says by the exit code what was found.
pub(crate) fn run(args: Args) -> ExitCode {
    let rules = match Selection::new(&args.select, &args.ignore) {
        Ok(rules) => rules,
        Err(error) => {
            eprintln!("hipward: {}", super::explain::unknown(&error));
            return ExitCode::from(2);
        }
    };
    let options = Options {
        target: Target {
            arch: args.target.0,
            rocm: args.rocm,
            torch: args.torch,
            python: args.python,
        },
        rules,
        language: None,
    };
    let failed = Cell::new(false);
    let complain = |message: String| {
        eprintln!("hipward: {message}");
        failed.set(true);
    };
    let mut checked = Vec::new();
    let mut patch = String::new();
    for path in files::python_files(&args.paths, &complain) {
        let is_stdin = path.as_os_str() == STDIN;
        let source = match read(&path, is_stdin) {
            Ok(source) => source,
            Err(error) => {
                complain(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let shown = files::shown(&path);
        let Some(fixed) =
            (args.fix || args.diff).then(|| fix(&source, &options, args.unsafe_fixes))
        else {
            let report = analyze(&source, &options);
            checked.push(Checked {
                path: shown,
                source,
                report,
            });
            continue;
        };
        if args.diff {
            patch.push_str(&unified_diff(&shown, &source, &fixed));
        } else if is_stdin {
            patch.push_str(&fixed);
        } else if fixed != source
            && let Err(error) = files::replace(&path, &fixed)
        {
            complain(format!("{}: could not be written: {error}", path.display()));
        }
        let report = analyze(&fixed, &options);
        checked.push(Checked {
            path: shown,
            source: fixed,
            report,
        });
    }
    if checked.is_empty() && !failed.get() {
        eprintln!("hipward: no Python files there");
    }
    let is_patch = args.diff || args.fix && args.paths.iter().any(|path| path.as_os_str() == STDIN);
    let text = if is_patch {
        patch
    } else {
        print(&checked, args.format)
    };
    let found = if args.diff {
        !text.is_empty()
    } else {
        has_findings(&checked)
    };
    if let Err(error) = io::stdout().write_all(text.as_bytes())
        // `hipward check … | head` is no failure.
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        complain(format!("could not print: {error}"));
    }
    match (failed.get(), found && !args.exit_zero) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    }
}

fn read(path: &std::path::Path, is_stdin: bool) -> io::Result<String> {
    let mut bytes = Vec::new();
    if is_stdin {
        io::stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(path)?;
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

fn fix(source: &str, options: &Options, with_unsafe: bool) -> String {
    let up_to = if with_unsafe {
        Applicability::Unsafe
    } else {
        Applicability::Safe
    };
    fix_all(source, options, up_to).source
}

/// Notes of the severity "info" are worth reading and no reason to fail.
fn has_findings(checked: &[Checked]) -> bool {
    checked
        .iter()
        .flat_map(|file| &file.report.findings)
        .any(|finding| finding.severity != Severity::Info)
}

fn print(checked: &[Checked], format: Format) -> String {
    let reports: Vec<_> = checked
        .iter()
        .map(|file| FileReport {
            path: &file.path,
            source: &file.source,
            report: &file.report,
        })
        .collect();
    match format {
        Format::Json => output::json(&reports),
        Format::Sarif => output::sarif(&reports),
        Format::Text => {
            let colour = if io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
                Colour::Ansi
            } else {
                Colour::Plain
            };
            let mut text = output::text(&reports, colour);
            text.push_str(&summary(checked));
            text
        }
    }
}

fn summary(checked: &[Checked]) -> String {
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let findings: Vec<_> = checked
        .iter()
        .flat_map(|file| &file.report.findings)
        .collect();
    let suppressed: usize = checked.iter().map(|file| file.report.suppressed).sum();
    let count = |wanted: Applicability| {
        findings
            .iter()
            .filter(|finding| {
                finding
                    .fix
                    .as_ref()
                    .is_some_and(|fix| fix.applicability == wanted)
            })
            .count()
    };
    let mut text = format!(
        "{} in {}",
        plural(findings.len(), "finding"),
        plural(checked.len(), "file")
    );
    if suppressed > 0 {
        text.push_str(&format!(", {suppressed} suppressed"));
    }
    text.push_str(".\n");
    let (safe, not_safe) = (count(Applicability::Safe), count(Applicability::Unsafe));
    if safe > 0 {
        text.push_str(
            &format!("{} can be made with --fix.\n", plural(safe, "safe fix"))
                .replace("fixs", "fixes"),
        );
    }
    if not_safe > 0 {
        text.push_str(&format!(
            "{not_safe} more with --fix --unsafe-fixes; look at them with --diff first.\n"
        ));
    }
    text
}
