//! The arguments of `hipward check`, and what they ask for together.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use hipward_analyzer::{Applicability, Arch, Version};

use super::discovery::STDIN;
use crate::config::{Overrides, Source, parse_arch};

/// Options of `hipward check`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, nothing found; 1, findings; 2, something could not be read, written or understood"
)]
pub(crate) struct Args {
    /// Files and folders; of a folder, the files that the analyzer reads, but for those that .gitignore names. `-` is standard input
    #[arg(default_value = ".")]
    pub(super) paths: Vec<PathBuf>,
    /// GPU architecture to judge for [default: gfx942]
    #[arg(long, value_name = "GFX", value_parser = parse_arch)]
    target: Option<Arch>,
    /// ROCm version to judge for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    rocm: Option<Version>,
    /// PyTorch version to judge for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    torch: Option<Version>,
    /// Python version to judge for
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    python: Option<Version>,
    /// Run only these rules: names, ids, or the beginning of an id such as HW1
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave these rules out
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
    /// Leave out what the configuration excludes even where it is named on the command line
    #[arg(long)]
    pub(super) force_exclude: bool,
    /// The name that standard input goes by, for its language and its configuration
    #[arg(long, value_name = "PATH")]
    pub(super) stdin_filename: Option<PathBuf>,
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
    pub(super) format: Format,
    /// Print counts by rule and family instead of findings
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    statistics: bool,
    /// Be silent about the findings in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write today's findings to a file that --baseline takes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "diff", "statistics", "watch", "baseline"])]
    pub(super) write_baseline: Option<PathBuf>,
    /// Stay, and check files again when they change
    #[arg(long, conflicts_with_all = ["fix", "diff", "statistics"])]
    pub(super) watch: bool,
    /// Files to check at a time [default: one for each processor]
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
    /// For people, with the lines in question
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

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Report it.
    Report,
    /// Count what is found.
    Statistics,
    /// Mend it, and report what is left.
    Fix,
    /// Print standard input mended, and nothing else.
    Filter,
    /// Print what mending would change.
    Diff,
    /// Note what is found, for later.
    Baseline,
}

impl Args {
    pub(super) fn mode(&self) -> Result<Mode, String> {
        let is_counted = matches!(self.format, Format::Text | Format::Json);
        if self.statistics && !is_counted {
            return Err("--statistics is printed as text or as json".to_owned());
        }
        if self.unsafe_fixes && !self.fix && !self.diff {
            return Err("--unsafe-fixes goes with --fix or --diff".to_owned());
        }
        if self.watch && !matches!(self.format, Format::Text | Format::Github) {
            return Err("--watch prints text: one JSON or SARIF file has no end then".to_owned());
        }
        if self.watch && self.paths.iter().any(|path| path.as_os_str() == STDIN) {
            return Err(
                "--watch goes with files and folders; standard input has an end".to_owned(),
            );
        }
        Ok(if self.diff {
            Mode::Diff
        } else if self.fix && self.paths.iter().any(|path| path.as_os_str() == STDIN) {
            Mode::Filter
        } else if self.fix {
            Mode::Fix
        } else if self.write_baseline.is_some() {
            Mode::Baseline
        } else if self.statistics {
            Mode::Statistics
        } else {
            Mode::Report
        })
    }

    /// The least safe fix that is wanted.
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
            without_baseline: self.write_baseline.is_some(),
        }
    }
}

fn parse_version(text: &str) -> Result<Version, String> {
    Version::try_from(text.to_owned())
}
