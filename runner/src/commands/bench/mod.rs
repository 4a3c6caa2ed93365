//! `hipward bench`: the benchmark button's job in a terminal.
//!
//! A client of the API and nothing else. Without `--host` the server is one of our own, for this job alone.
//!
//! 0: measured. 1: the job failed, or a variant's numbers cannot be trusted. 2: there was no job. 130: cancelled with Ctrl-C.

mod client;
mod screen;

use super::{
    host::{HostArgs, Senders},
    scratch::Scratch,
    token::TokenArgs,
};
use crate::{
    api::Access,
    jobs::{LocalRunner, Runner, Store, unguessable},
    server::{listen, run_server},
    shutdown::Interrupts,
    web::pages::Pages,
};
use clap::ValueEnum;
use client::{Client, ClientError};
use hipward_protocol::{JobRequest, JobState, JobView, Outcome, VariantId, VariantStatus};
use hipward_site::benchmark_text;
use screen::Screen;
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
use tokio::{runtime::Runtime, sync::oneshot, task};

/// Arguments of `hipward bench`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, measured; 1, the job failed, or a variant's precision or time cannot be trusted; 2, there was no job; 130, cancelled"
)]
pub(crate) struct Args {
    /// A snippet: class Model, get_inputs, get_init_inputs, and ModelNew if there is one; `-` is standard input
    file: PathBuf,
    /// Variants to run beside eager and its control, such as compile,fused-ops [default: all of them]
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    variants: Vec<VariantId>,
    /// Device to run on: cpu, cuda:0, … [default: the first GPU, else the processor]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Run it on this Hipward server instead of this machine
    #[arg(long, value_name = "URL", conflicts_with = "HostArgs", value_parser = client::base)]
    host: Option<String>,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    runner: HostArgs,
}

/// What is printed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: verdict, table, conditions
    Text,
    /// The whole result with every sample
    Json,
    /// benchmark.md, for a pull request or a wiki
    Markdown,
}

/// Runs the job and says by the exit code how it went.
pub(crate) fn run(args: Args) -> ExitCode {
    let code = Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| {
            let ended = runtime.block_on(bench(args));
            // A stream that nobody listens to any more must not hold us up.
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
    };
    let mut interrupts = Interrupts::listen()?;
    let Some(host) = &args.host else {
        let local = tokio::select! {
            local = Local::start(args.runner.clone(), args.device.as_deref()) => local?,
            () = interrupts.next() => return Ok(INTERRUPTED),
        };
        let ended = run_job(&local.client, request, &args, interrupts).await;
        local.stop().await?;
        return ended;
    };
    let token = args.token.read()?;
    run_job(&Client::new(host, token), request, &args, interrupts).await
}

const INTERRUPTED: u8 = 130;

/// Who waits for the result: the first Ctrl-C asks for the job's end, and the second for ours.
struct Person {
    interrupts: Interrupts,
    has_asked: bool,
}

impl Person {
    /// What a call to the server gives; none for whoever asked twice, and does not want to wait for it.
    async fn wait_for<T>(&mut self, call: impl Future<Output = T>) -> Option<T> {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => return Some(answer),
                () = self.interrupts.next() => {
                    if mem::replace(&mut self.has_asked, true) {
                        return None;
                    }
                }
            }
        }
    }
}

/// Sends the job, follows it to its end and prints what came of it.
async fn run_job(
    client: &Client,
    request: JobRequest,
    args: &Args,
    interrupts: Interrupts,
) -> Result<u8, Box<dyn Error>> {
    let mut person = Person {
        interrupts,
        has_asked: false,
    };
    let Some(job) = person.wait_for(client.clone().submit(request)).await else {
        return Ok(INTERRUPTED);
    };
    let job = job?;
    let mut events = client.follow(&job.id);
    let mut view = JobView::default();
    let mut screen = Screen::new(args.quiet);
    let mut is_cancelled = false;
    while !view.state.is_final() {
        if person.has_asked && !is_cancelled {
            is_cancelled = true;
            match person.wait_for(client.clone().cancel(&job.id)).await {
                Some(answer) => drop(answer?),
                None => return Ok(INTERRUPTED),
            }
        }
        tokio::select! {
            event = events.recv() => match event {
                Some(Ok(event)) => {
                    view.apply(&event);
                    screen.show(&event, &view);
                }
                Some(Err(error)) => return Err(error.into()),
                None => return Err(ClientError::Ended.into()),
            },
            () = person.interrupts.next() => {
                if mem::replace(&mut person.has_asked, true) {
                    return Ok(INTERRUPTED);
                }
            }
        }
    }
    screen.end();
    let report = match args.format {
        Format::Text => None,
        Format::Json => Some("report.json"),
        Format::Markdown => Some("report.md"),
    };
    let text = match report {
        None => benchmark_text(&view),
        Some(name) => match person.wait_for(client.clone().report(&job.id, name)).await {
            Some(text) => text?,
            None => return Ok(INTERRUPTED),
        },
    };
    // A closed pipe (`| head`) is the reader's wish.
    let _ = io::stdout().write_all(text.as_bytes());
    if args.host.is_some() && !args.quiet {
        eprintln!("The result is at {}", client.page(&job.id));
    }
    Ok(match (person.has_asked, is_good(&view)) {
        (true, _) if view.state == JobState::Cancelled => INTERRUPTED,
        (_, true) => 0,
        (_, false) => 1,
    })
}

/// True for a job that ran to its end and whose numbers can be trusted.
fn is_good(view: &JobView) -> bool {
    let rejected = |row: &hipward_protocol::VariantView| {
        matches!(row.status, VariantStatus::Rejected(_))
            || view
                .comparison(&row.variant)
                .is_some_and(|comparison| comparison.outcome == Outcome::Impossible)
    };
    view.state == JobState::Done && !view.variants.iter().any(rejected)
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
    _scratch: Scratch,
}

impl Local {
    async fn start(host: HostArgs, device: Option<&str>) -> Result<Local, Box<dyn Error>> {
        // Snippets that run as our own user must not be able to look into us.
        nix::sys::prctl::set_dumpable(false)?;
        let scratch = Scratch::new()?;
        let settings = host.settings(scratch.path().to_owned(), Senders::Operator)?;
        let store = Store::open(&settings.data)?;
        let pages = Pages::load(None, None, "/")?;
        let mut runner = Runner::discover(settings).await?;
        // Workers that nobody asked for would be warmed on the other devices.
        runner.keep_only(device);
        let (listener, bound) = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        // Nobody else on this machine is to run code here.
        let token = unguessable()?;
        let client = Client::new(&format!("http://{bound}"), Some(token.clone()));
        let (stop, stopped) = oneshot::channel();
        let told = async {
            // A sender that is gone says the same.
            let _ = stopped.await;
        };
        let access = Access {
            token: Some(token),
            hosts: Vec::new(),
        };
        let server = run_server(
            listener,
            access,
            store,
            LocalRunner::ready(runner),
            pages,
            told,
        );
        Ok(Local {
            client,
            stop,
            server: tokio::spawn(server),
            _scratch: scratch,
        })
    }

    /// Ends the server with every worker.
    async fn stop(self) -> Result<(), Box<dyn Error>> {
        // Kept connections would be waited for.
        drop(self.client);
        drop(self.stop);
        Ok(self.server.await??)
    }
}
