//! `hipward bench`: runs a benchmark job from a terminal.
//!
//! A client of the API. Without `--host` it starts a server in this process for the job.
//!
//! Exit codes: 0, measured; 1, the job failed, a variant's precision or time is not valid, or a variant is slower than in the result of
//! `--compare`; 2, no job was run; 130, cancelled with Ctrl-C.

mod client;
mod github;
mod progress;

use super::{
    host::{HostArgs, Senders, bytes},
    temporary_folder::temporary_folder,
    token_args::TokenArgs,
};
use crate::{
    api::AccessConfig,
    connections::ClientLimits,
    http_client::server_address,
    isolation::Host,
    jobs::{LocalRunner, Retention, Runner, Store, random_id},
    server::{Server, listen},
    shutdown::Interrupts,
    web::{
        live_pages::LivePages,
        pages::{Pages, SiteOptions},
    },
};
use clap::ValueEnum;
use client::{Client, ClientError};
use hipward_protocol::{
    JobRequest, JobState, JobView, Outcome, Priority, Requirements, VariantId, VariantStatus,
    Vendor,
};
use hipward_site::{JobComparison, benchmark_text};
use progress::Progress;
use std::{
    error::Error,
    fs, io,
    io::{Read, Write},
    mem,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    pin::pin,
    process::ExitCode,
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::oneshot, task};

/// Arguments of `hipward bench`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, measured; 1, the job failed, a variant's precision or time is not valid, or a variant is slower than with --compare; 2, no job was run; 130, cancelled"
)]
pub(crate) struct Args {
    /// A snippet: class Model, get_inputs, get_init_inputs, and optionally ModelNew; `-` is standard input
    file: PathBuf,
    /// Variants to run besides eager and its control, such as compile,fused-ops [default: all of them]
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    variants: Vec<VariantId>,
    /// Device to run on: cpu, cuda:0, … [default: the first GPU, else the processor]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Group the job with others under this name, such as a branch; may be repeated
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Compare with an earlier result: a file that `--format json` wrote, or the id of a job of --host
    #[arg(long, value_name = "BASE")]
    compare: Option<String>,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Run it on this Hipward server instead of this machine
    #[arg(long, value_name = "URL", conflicts_with_all = ["HostArgs", "RunnerArgs"], value_parser = server_address)]
    host: Option<String>,
    /// What the host must have: vendor=amd, arch=gfx942, rocm=7.0, torch=2.9, memory=64GiB, gpus=8, label=NAME; with --host
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        requires = "host"
    )]
    require: Vec<String>,
    /// Priority in the queue; high is for operators; with --host
    #[arg(long, value_enum, requires = "host")]
    priority: Option<PriorityArg>,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    runner: HostArgs,
}

/// What is printed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Verdict, table and environment as text
    Text,
    /// The whole result with every sample
    Json,
    /// benchmark.md, for a pull request or a wiki
    Markdown,
    /// Annotations of a GitHub workflow; benchmark.md is added to the summary of its step
    Github,
}

/// [`Priority`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PriorityArg {
    Low,
    Normal,
    High,
}

impl From<PriorityArg> for Priority {
    fn from(priority: PriorityArg) -> Self {
        match priority {
            PriorityArg::Low => Priority::Low,
            PriorityArg::Normal => Priority::Normal,
            PriorityArg::High => Priority::High,
        }
    }
}

/// Parses the values of `--require`.
fn requirements(values: &[String]) -> Result<Requirements, String> {
    let mut required = Requirements::default();
    for text in values {
        let invalid = || {
            format!(
                "--require {text}: use vendor=amd|nvidia|cpu, arch=gfx942, rocm=7.0, torch=2.9, memory=64GiB, gpus=8 or label=NAME"
            )
        };
        let (name, value) = text.split_once('=').ok_or_else(invalid)?;
        let value = value.trim();
        match name.trim() {
            "vendor" => {
                let vendor = match value {
                    "amd" => Vendor::Amd,
                    "nvidia" => Vendor::Nvidia,
                    "cpu" => Vendor::Cpu,
                    _ => return Err(invalid()),
                };
                required.vendor = Some(vendor);
            }
            "arch" => required.arch = Some(value.to_owned()),
            "rocm" => required.rocm = Some(value.to_owned()),
            "torch" => required.torch = Some(value.to_owned()),
            "memory" => required.memory_bytes = Some(bytes(value).map_err(|_| invalid())?),
            "gpus" => required.gpus = Some(value.parse().map_err(|_| invalid())?),
            "label" => required.labels.push(value.to_owned()),
            _ => return Err(invalid()),
        }
    }
    Ok(required)
}

/// Runs the job and returns the exit code.
pub(crate) fn run(args: Args) -> ExitCode {
    let code = Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| {
            let ended = runtime.block_on(bench(args));
            // Does not wait for the thread that reads the event stream.
            runtime.shutdown_background();
            ended
        })
        .unwrap_or_else(|error| {
            eprintln!("hipward bench: {error}");
            2
        });
    ExitCode::from(code)
}

async fn bench(args: Args) -> Result<u8, Box<dyn Error>> {
    let request = JobRequest {
        code: read(&args.file)?,
        title: title(&args.file),
        variants: args.variants.clone(),
        device: args.device.clone(),
        labels: args.label.clone(),
        require: (!args.require.is_empty())
            .then(|| requirements(&args.require))
            .transpose()?,
        priority: args.priority.map(Into::into),
    };
    // Before the job, so that an unreadable file is reported at once.
    let base = match &args.compare {
        Some(file) if Path::new(file).exists() || args.host.is_none() => {
            Some(Base::parse(file, &read(Path::new(file))?)?)
        }
        _ => None,
    };
    let mut interrupts = Interrupts::listen()?;
    let Some(host) = &args.host else {
        let local = tokio::select! {
            local = Local::start(args.runner.clone(), args.device.as_deref()) => local?,
            () = interrupts.next() => return Ok(INTERRUPTED),
        };
        let ended = run_job(&local.client, request, &args, base, interrupts).await;
        local.stop().await?;
        return ended;
    };
    let token = args.token.read()?;
    let client = Client::new(host, token);
    let base = match (base, &args.compare) {
        (None, Some(id)) => {
            let text = client.clone().report(id, "report.json").await?;
            Some(Base::parse(id, &text)?)
        }
        (base, _) => base,
    };
    run_job(&client, request, &args, base, interrupts).await
}

/// An earlier result, which the job is compared with.
struct Base {
    /// The file or the id of its job.
    name: String,
    view: JobView,
}

impl Base {
    /// Parses a report as `--format json` prints it.
    fn parse(name: &str, json: &str) -> Result<Base, String> {
        #[derive(serde::Deserialize)]
        struct Report {
            result: JobView,
        }
        let report: Report = serde_json::from_str(json).map_err(|error| {
            format!("{name} is not a result that `hipward bench --format json` wrote: {error}")
        })?;
        Ok(Base {
            name: name.to_owned(),
            view: report.result,
        })
    }
}

const INTERRUPTED: u8 = 130;

/// Handles Ctrl-C while waiting for the result: the first cancels the job, the second ends this process.
struct InterruptGuard {
    interrupts: Interrupts,
    is_requested: bool,
}

impl InterruptGuard {
    /// Waits for a call to the server. None after the second Ctrl-C.
    async fn wait_for<T>(&mut self, call: impl Future<Output = T>) -> Option<T> {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => return Some(answer),
                () = self.interrupts.next() => {
                    if mem::replace(&mut self.is_requested, true) {
                        return None;
                    }
                }
            }
        }
    }
}

/// Submits the job, follows it to its end and prints the result.
async fn run_job(
    client: &Client,
    request: JobRequest,
    args: &Args,
    base: Option<Base>,
    interrupts: Interrupts,
) -> Result<u8, Box<dyn Error>> {
    let mut interrupt = InterruptGuard {
        interrupts,
        is_requested: false,
    };
    let Some(job) = interrupt.wait_for(client.clone().submit(request)).await else {
        return Ok(INTERRUPTED);
    };
    let job = job?;
    let mut events = client.follow(&job.id);
    let mut view = JobView::default();
    let mut progress = Progress::new(args.quiet);
    let mut is_cancelled = false;
    while !view.state.is_final() {
        if interrupt.is_requested && !is_cancelled {
            is_cancelled = true;
            match interrupt.wait_for(client.clone().cancel(&job.id)).await {
                Some(answer) => drop(answer?),
                None => return Ok(INTERRUPTED),
            }
        }
        tokio::select! {
            event = events.recv() => match event {
                Some(Ok(event)) => {
                    view.apply(&event);
                    progress.show(&event, &view);
                }
                Some(Err(error)) => return Err(error.into()),
                None => return Err(ClientError::Ended.into()),
            },
            () = interrupt.interrupts.next() => {
                if mem::replace(&mut interrupt.is_requested, true) {
                    return Ok(INTERRUPTED);
                }
            }
        }
    }
    progress.end();
    let report = match args.format {
        Format::Text => None,
        Format::Json => Some("report.json"),
        Format::Markdown | Format::Github => Some("report.md"),
    };
    let text = match report {
        None => benchmark_text(&view),
        Some(name) => match interrupt
            .wait_for(client.clone().report(&job.id, name))
            .await
        {
            Some(text) => text?,
            None => return Ok(INTERRUPTED),
        },
    };
    let comparison = base.map(|base| (JobComparison::new(&base.view, &view), base.name));
    // A closed pipe (`| head`) is not an error.
    let _ = match args.format {
        Format::Github => {
            let compared = comparison
                .as_ref()
                .map(|(comparison, name)| (comparison, name.as_str()));
            github::add_to_summary(&text, compared)?;
            let annotations = github::annotations(&args.file, &view, compared);
            io::stdout().write_all(annotations.as_bytes())
        }
        Format::Text | Format::Json | Format::Markdown => io::stdout().write_all(text.as_bytes()),
    };
    if let Some((comparison, name)) = &comparison {
        let _ = match args.format {
            Format::Text => io::stdout().write_all(comparison.text(name).as_bytes()),
            Format::Markdown => io::stdout().write_all(comparison.markdown(name).as_bytes()),
            // Standard output is one JSON document.
            Format::Json => io::stderr().write_all(comparison.text(name).as_bytes()),
            // The comparison is among the annotations.
            Format::Github => Ok(()),
        };
    }
    // Times on other devices are no evidence against the code.
    let is_slower = comparison.is_some_and(|(comparison, _)| {
        comparison.is_same_host && comparison.slower().next().is_some()
    });
    if args.host.is_some() && !args.quiet {
        eprintln!("The result is at {}", client.page(&job.id));
    }
    Ok(
        match (interrupt.is_requested, is_good(&view) && !is_slower) {
            (true, _) if view.state == JobState::Cancelled => INTERRUPTED,
            (_, true) => 0,
            (_, false) => 1,
        },
    )
}

/// Whether the job is done and all of its results are valid.
fn is_good(view: &JobView) -> bool {
    view.state == JobState::Done && invalid(view).next().is_none()
}

/// The variants whose precision or time is not valid, with the reason.
fn invalid(view: &JobView) -> impl Iterator<Item = (&VariantId, &str)> {
    view.variants.iter().filter_map(|row| {
        let is_impossible = || {
            view.comparison(&row.variant)
                .is_some_and(|comparison| comparison.outcome == Outcome::Impossible)
        };
        let reason = match &row.status {
            VariantStatus::Rejected(reason) => reason.as_str(),
            _ if is_impossible() => "It is faster than the device can be.",
            _ => return None,
        };
        Some((&row.variant, reason))
    })
}

fn read(file: &Path) -> Result<String, String> {
    let read = if file.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    read.map_err(|error| format!("{}: {error}", file.display()))
}

fn title(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    (name != "-").then(|| name.chars().take(120).collect())
}

/// A server in this process, for one job.
struct Local {
    client: Client,
    stop: oneshot::Sender<()>,
    server: task::JoinHandle<io::Result<()>>,
    _scratch: TempDir,
}

impl Local {
    async fn start(host: HostArgs, device: Option<&str>) -> Result<Local, Box<dyn Error>> {
        // Snippets that run as this process's user must not be able to inspect it.
        nix::sys::prctl::set_dumpable(false)?;
        let folder = temporary_folder()?;
        let settings = host.settings(folder.path().to_owned(), Senders::Operator)?;
        let store = Store::open(&settings.data)?;
        let pages = LivePages::fixed(Pages::load(None, &SiteOptions::default())?);
        let host = Host::detect(settings.mechanisms);
        let mut runner = Runner::discover(settings, host).await?;
        // Otherwise workers would be warmed up on the other devices too.
        runner.restrict_to_device(device);
        let (listener, bound) = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        // Prevents other users of this machine from running code here.
        let token = random_id()?;
        let client = Client::new(&format!("http://{bound}"), Some(token.clone()));
        let (stop, stopped) = oneshot::channel();
        let stop_requested = async {
            // A dropped sender has the same effect.
            let _ = stopped.await;
        };
        let access = AccessConfig {
            token: Some(token),
            ..AccessConfig::default()
        };
        let server = Server {
            access,
            store,
            runner: LocalRunner::ready(runner),
            pages,
            retention: Retention::default(),
            limits: ClientLimits::default(),
            log_requests: false,
            webhooks: None,
        };
        Ok(Local {
            client,
            stop,
            server: tokio::spawn(server.run(listener, stop_requested)),
            _scratch: folder,
        })
    }

    /// Stops the server and all of its workers.
    async fn stop(self) -> Result<(), Box<dyn Error>> {
        // The server waits for open connections.
        drop(self.client);
        drop(self.stop);
        Ok(self.server.await??)
    }
}
