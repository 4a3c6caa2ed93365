//! `hipward serve`: site, API and local runner on one address.

use super::{
    host::{HostArgs, Senders},
    token::TokenArgs,
};
use crate::{
    api::Access,
    jobs::{LocalRunner, Runner, Store, unguessable},
    server::{listen, run_server},
    shutdown::Interrupts,
    web::pages::Pages,
};
use std::{
    env,
    error::Error,
    io::IsTerminal,
    net::SocketAddr,
    path::PathBuf,
    process::{self, ExitCode},
};
use tracing_subscriber::filter::LevelFilter;

/// Arguments of `hipward serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8717")]
    bind: SocketAddr,
    /// Serve this content folder instead of the built-in lessons
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    #[command(flatten)]
    token: TokenArgs,
    /// Run code without a token for all users of this machine, and for no request from a network [default: a token is required, random unless it is given]
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    /// Answer requests for this host name too, as a proxy in front passes them on
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Show what a team's own rules (TOML) find in the playground too
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Folder for jobs and results [default: ~/.local/share/hipward]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    host: HostArgs,
}

/// Serves until it is told to stop.
pub(crate) fn run(args: Args) -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let served = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(serve(args)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hipward: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: Args) -> Result<(), Box<dyn Error>> {
    // Snippets that run as our own user must not be able to look into us.
    nix::sys::prctl::set_dumpable(false)?;
    let given = args.token.read()?;
    // Made up, it is for who started the server: it is printed, and gone with the server.
    let random = if given.is_none() && !args.no_token {
        Some(unguessable()?)
    } else {
        None
    };
    let access = Access {
        token: random.clone().or(given.filter(|_| !args.no_token)),
        hosts: args.allow_host,
    };
    let senders = if random.is_some() && access.is_local(args.bind) {
        Senders::Operator
    } else {
        Senders::Others
    };
    let data = args.data.or_else(default_data);
    let data =
        data.ok_or("there is no home folder to keep jobs in; choose a folder with --data")?;
    let settings = args.host.settings(data, senders)?;
    let pages = Pages::load(args.content.as_deref(), args.rules.as_deref(), "/")?;
    let store = Store::open(&settings.data)?;
    let recovered = store.recover()?;
    if recovered.queued + recovered.failed > 0 {
        tracing::info!(
            "interrupted by the last stop: {} jobs run again, {} failed",
            recovered.queued,
            recovered.failed
        );
    }
    let (listener, bound) = listen(args.bind).await?;
    if !access.is_local(bound) && access.token.is_none() {
        tracing::warn!(
            "this server can be reached from a network, so no code is run for anyone; \
             start without --no-token to run code for those who have the token"
        );
    }

    let mut interrupts = Interrupts::listen()?;
    match random {
        // This address makes a browser one that may run code.
        Some(token) => println!("Hipward is at http://{bound}/?token={token}"),
        None => println!("Hipward is at http://{bound}/"),
    }
    let runner = LocalRunner::start(settings, log_capabilities);
    let told = async move {
        interrupts.next().await;
        tracing::info!(
            "stopping; jobs that run now will run again after the next start. Once more stops at once"
        );
        // Whoever still sends or reads an answer is waited for otherwise. Supervisors end with us.
        tokio::spawn(async move {
            interrupts.next().await;
            process::exit(130);
        });
    };
    run_server(listener, access, store, runner, pages, told).await?;
    Ok(())
}

fn default_data() -> Option<PathBuf> {
    let share = env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/share")))?;
    Some(share.join("hipward"))
}

fn log_capabilities(runner: &Runner) {
    let capabilities = runner.capabilities();
    for missing in &capabilities.missing {
        tracing::warn!(
            "{} is missing: {} To fix it: {}",
            missing.what,
            missing.consequence,
            missing.fix
        );
    }
    for device in &capabilities.devices {
        tracing::info!(
            "benchmarks run on {} ({}, {})",
            device.id,
            device.name,
            device.arch
        );
    }
    tracing::info!(
        "isolation: {}",
        capabilities.isolation.mechanisms.join(", ")
    );
    for missing in &capabilities.isolation.missing {
        tracing::warn!("isolation lacks {missing}");
    }
}
