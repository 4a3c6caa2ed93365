//! The arguments of `hipward check`, and the mode that results from them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use hipward_analyzer::{Applicability, Arch, Version};

use super::discovery::STDIN;
use crate::config::{Overrides, Source, parse_arch};

/// Options of `hipward check`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, no findings other than information; 1, other findings; 2, an invalid option or a file that cannot be read or written"
)]
pub(crate) struct Args {
    /// Files and folders; of a folder, the supported files, except those that git ignores. `-` is standard input
    #[arg(default_value = ".")]
    pub(super) paths: Vec<PathBuf>,
    /// GPU architecture to check for [default: gfx942]
    #[arg(long, value_name = "GFX", value_parser = parse_arch)]
    target: Option<Arch>,
    /// ROCm version to check for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    rocm: Option<Version>,
    /// PyTorch version to check for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    torch: Option<Version>,
    /// Python version to check for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    python: Option<Version>,
    /// Run only these rules: names, ids, or the beginning of an id such as HW1
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Skip these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// A folder of team rules (TOML)
    #[arg(long, value_name = "DIR")]
    pub(super) rules: Option<PathBuf>,
    /// Use this configuration file instead of the nearest hipward.toml or pyproject.toml
    #[arg(long, value_name = "FILE", conflicts_with = "isolated")]
    config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long)]
    isolated: bool,
    /// Skip files that the configuration excludes even if they are passed on the command line
    #[arg(long)]
    pub(super) force_exclude: bool,
    /// File name of standard input, for its language and its configuration
    #[arg(long, value_name = "PATH")]
    pub(super) stdin_filename: Option<PathBuf>,
    /// Write safe fixes into the files
    #[arg(long)]
    fix: bool,
    /// With --fix or --diff: also the unsafe fixes
    #[arg(long)]
    unsafe_fixes: bool,
    /// Print what --fix would change as a patch, and write nothing
    #[arg(long)]
    diff: bool,
    /// Add a comment with this reason to each line with findings, which suppresses them: `# hipward: ignore[rule] REASON`
    #[arg(long, value_name = "REASON", value_parser = parse_reason, conflicts_with_all = ["fix", "diff", "statistics", "baseline", "write_baseline", "watch"])]
    pub(super) add_ignores: Option<String>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Print counts by rule and family instead of findings
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    statistics: bool,
    /// Do not report the findings in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the current findings to a file for --baseline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "diff", "statistics", "watch", "baseline"])]
    pub(super) write_baseline: Option<PathBuf>,
    /// Keep running, and check files again when they change
    #[arg(long, conflicts_with_all = ["fix", "diff", "statistics"])]
    pub(super) watch: bool,
    /// Analyze every file, and store no reports
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Where reports of unchanged files are stored [default: hipward/check in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub(super) cache_dir: Option<PathBuf>,
    /// Files to check in parallel [default: one for each processor]
    #[arg(long, value_name = "COUNT")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// No progress bar
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Exit with 0 even when something is found
    #[arg(long)]
    pub(super) exit_zero: bool,
    /// Print the JSON Schema of --format json, and nothing else
    #[arg(long)]
    pub(super) schema: bool,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text with the source lines
    Text,
    /// An array of files, each with its report; --schema describes it
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
    /// Tables, for a pull request or a wiki
    Markdown,
    /// Annotations in a GitHub workflow
    Github,
}

/// What to do with each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Report it.
    Report,
    /// Count what is found.
    Statistics,
    /// Apply fixes, and report the remaining findings.
    Fix,
    /// Print standard input with fixes applied, and nothing else.
    Filter,
    /// Print the fixes as a patch.
    Diff,
    /// Add suppression comments, and report the findings that no comment can suppress.
    AddIgnores,
    /// Write a baseline.
    Baseline,
}

impl Mode {
    /// Whether the mode neither changes files nor computes changes.
    pub(super) fn only_reads(self) -> bool {
        matches!(self, Mode::Report | Mode::Statistics | Mode::Baseline)
    }
}

impl Args {
    pub(super) fn mode(&self) -> Result<Mode, String> {
        let has_stdin = self.paths.iter().any(|path| path.as_os_str() == STDIN);
        let is_counted = matches!(self.format, Format::Text | Format::Json);
        if self.statistics && !is_counted {
            return Err("--statistics supports the formats text and json".to_owned());
        }
        if self.unsafe_fixes && !self.fix && !self.diff {
            return Err("--unsafe-fixes requires --fix or --diff".to_owned());
        }
        if self.watch && !matches!(self.format, Format::Text | Format::Github) {
            return Err("--watch supports the formats text and github".to_owned());
        }
        if self.watch && has_stdin {
            return Err(
                "--watch requires files or folders; standard input cannot be watched".to_owned(),
            );
        }
        if self.add_ignores.is_some() && has_stdin {
            return Err(
                "--add-ignores requires files or folders; it writes the comments into them"
                    .to_owned(),
            );
        }
        Ok(if self.diff {
            Mode::Diff
        } else if self.fix && has_stdin {
            Mode::Filter
        } else if self.fix {
            Mode::Fix
        } else if self.add_ignores.is_some() {
            Mode::AddIgnores
        } else if self.write_baseline.is_some() {
            Mode::Baseline
        } else if self.statistics {
            Mode::Statistics
        } else {
            Mode::Report
        })
    }

    /// The least safe applicability of fixes to apply.
    pub(super) fn applicability(&self) -> Applicability {
        if self.unsafe_fixes {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        }
    }

    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            select: self.select.clone(),
            ignore: self.ignore.clone(),
            arch: self.target,
            rocm: self.rocm,
            torch: self.torch,
            python: self.python,
            rules: self.rules.clone(),
            baseline: self.baseline.clone(),
            source: match (&self.config, self.isolated) {
                (Some(path), _) => Source::File(path.clone()),
                (None, true) => Source::None,
                (None, false) => Source::Nearest,
            },
            without_baseline: self.write_baseline.is_some() || self.add_ignores.is_some(),
        }
    }
}

fn parse_reason(text: &str) -> Result<String, String> {
    let reason = text.trim();
    // It is the end of a comment, which a backslash would continue in the next line.
    if reason.is_empty() || reason.contains(char::is_control) || reason.ends_with('\\') {
        return Err("the reason must be one line of text, and must not end with `\\`".to_owned());
    }
    Ok(reason.to_owned())
}

pub(super) fn parse_version(text: &str) -> Result<Version, String> {
    Version::try_from(text.to_owned())
}
