//! `hipward plan`: the porting plan of a project, and the progress since an earlier plan.
//!
//! Exit codes: 0, the plan was printed; 2, an invalid path, option or file.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use hipward_analyzer::output::{plan_markdown, plan_text};
use hipward_analyzer::{Applicability, Arch, Plan, Progress, Survey, Version};

use super::args::{Format, Mode, parse_version};
use super::cache::Cache;
use super::check_file::{CheckedFile, FileChecker};
use super::discovery::discover;
use super::{output, parallel, progress};
use crate::config::{Baselines, Overrides, Projects, Source, parse_arch};

/// Options of `hipward plan`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, the plan was printed; 2, an invalid option or a file that cannot be read"
)]
pub(crate) struct Args {
    /// Files and folders of the project
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// GPU architecture of the port [default: gfx942]
    #[arg(long, value_name = "GFX", value_parser = parse_arch)]
    target: Option<Arch>,
    /// ROCm version of the port
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    rocm: Option<Version>,
    /// PyTorch version of the port
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    torch: Option<Version>,
    /// Python version of the port
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    python: Option<Version>,
    /// A folder of team rules (TOML)
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long)]
    isolated: bool,
    /// How the plan is printed
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
    /// Compare with an earlier plan, which `hipward plan --format json` wrote
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Analyze every file, and store no reports
    #[arg(long)]
    no_cache: bool,
    /// Where reports of unchanged files are stored [default: hipward/check in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache_dir: Option<PathBuf>,
    /// No progress bar
    #[arg(long, short)]
    quiet: bool,
}

/// An output format of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// Text for a terminal
    Text,
    /// A checklist for an issue or a wiki
    Markdown,
    /// Data, for --since
    Json,
}

/// Prints the plan, and returns the exit code.
pub(crate) fn run(args: &Args) -> ExitCode {
    match plan(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(message) => {
            eprintln!("hipward: {message}");
            ExitCode::from(2)
        }
    }
}

/// Prints the plan. The result is false if a file could not be read.
fn plan(args: &Args) -> Result<bool, String> {
    let before = args.since.as_deref().map(earlier).transpose()?;
    let projects = Projects::new(args.overrides());
    let mut is_complete = true;
    let found = discover(&args.paths, false, None, &projects, &mut |message| {
        is_complete &= !message.print();
    });
    if found.is_empty() {
        return Err("there are no files that it can check".to_owned());
    }
    let baselines = Baselines::default();
    let cache = args.cache();
    let checker = FileChecker {
        mode: Mode::Statistics,
        fixes: Applicability::Safe,
        stdin: None,
        reason: "",
        baselines: &baselines,
        cache: cache.as_ref(),
        format: output::format(Format::Json, &found),
    };
    let mut survey = Survey::default();
    let mut target = None;
    let bar = progress::bar(found.len() as u64, args.quiet);
    parallel::in_order(
        &found,
        None,
        |found| checker.file(found),
        |checked: CheckedFile| {
            bar.inc(1);
            for note in &checked.notes {
                bar.suspend(|| eprintln!("hipward: {note}"));
            }
            for message in checked.complaints {
                bar.suspend(|| eprintln!("hipward: {message}"));
                is_complete = false;
            }
            if let Some(report) = &checked.report {
                target.get_or_insert_with(|| report.target.clone());
                survey.add(&checked.path, report);
            }
        },
    );
    bar.finish_and_clear();
    if let Some(cache) = cache {
        cache.save(projects.reads().into_iter());
    }
    let plan = survey.plan(&target.unwrap_or_default());
    let progress = before.map(|before| Progress::between(&before, &plan));
    let text = match args.format {
        PlanFormat::Text => plan_text(&plan, progress.as_ref()),
        PlanFormat::Markdown => plan_markdown(&plan, progress.as_ref()),
        PlanFormat::Json => {
            let json = serde_json::to_string_pretty(&plan).map_err(|error| error.to_string())?;
            json + "\n"
        }
    };
    // A closed pipe (`| head`) is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(is_complete)
}

fn earlier(path: &Path) -> Result<Plan, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{}: {}", path.display(), super::discovery::plain(&error)))?;
    Plan::read(&text).map_err(|error| format!("{}: {error}", path.display()))
}

impl Args {
    fn cache(&self) -> Option<Cache> {
        // Reports are stored without regard to a baseline, so those of `hipward check` serve too.
        let overrides = Overrides {
            without_baseline: false,
            ..self.overrides()
        };
        let options = format!("{overrides:?}");
        (!self.no_cache).then(|| Cache::open(self.cache_dir.as_deref(), &self.paths, &options))?
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            select: Vec::new(),
            ignore: Vec::new(),
            arch: self.target,
            rocm: self.rocm,
            torch: self.torch,
            python: self.python,
            rules: self.rules.clone(),
            baseline: None,
            source: if self.isolated {
                Source::None
            } else {
                Source::Nearest
            },
            // The plan shows the whole port.
            without_baseline: true,
        }
    }
}
