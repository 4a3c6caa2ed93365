//! `hipward worker`: runs jobs of a server elsewhere on the devices of this host. It needs no open port and no database.

use super::{
    host::{LabelArgs, RunnerArgs, Senders, age},
    service,
    temporary_folder::temporary_folder,
    token_args::TokenArgs,
};
use crate::{
    http_client::server_address,
    isolation::Host,
    jobs::{REPORT_INTERVAL, RemoteSource, ReportError, Runner, Settings, machine_name, run_jobs},
    shutdown::{Interrupts, Shutdown, shutdown},
};
use std::{
    error::Error,
    process::{self, ExitCode},
    sync::Arc,
    time::Duration,
};
use tokio::time::sleep;

/// Interval of the check whether this process ends.
const END_CHECK: Duration = Duration::from_millis(200);

/// Arguments of `hipward worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the server whose jobs to run, such as https://hipward.example
    #[arg(long, value_name = "URL", value_parser = server_address)]
    join: String,
    #[command(flatten)]
    token: TokenArgs,
    /// Name of this host for the server and in results [default: the machine's name]
    #[arg(long)]
    name: Option<String>,
    /// End after one job, on the first device
    #[arg(long)]
    once: bool,
    /// End after this long without a job, such as 10m [default: never]
    #[arg(long, value_name = "AGE", value_parser = age)]
    idle_exit: Option<Duration>,
    #[command(flatten)]
    runner: RunnerArgs,
    #[command(flatten)]
    labels: LabelArgs,
}

/// Runs jobs until it is stopped.
pub(crate) fn run(args: Args) -> ExitCode {
    service::run(work(args))
}

async fn work(args: Args) -> Result<(), Box<dyn Error>> {
    // Snippets that run as this process's user must not be able to inspect it.
    nix::sys::prctl::set_dumpable(false)?;
    let token = args.token.read()?;
    let name = args.name.unwrap_or_else(machine_name);
    let folder = temporary_folder()?;
    let settings = Settings {
        labels: args.labels.label,
        ..args
            .runner
            .settings(folder.path().to_owned(), Senders::Others)?
    };
    let host = Host::detect(settings.mechanisms);
    let mut interrupts = Interrupts::listen()?;
    let mut runner = tokio::select! {
        runner = Runner::discover(settings, host) => runner?,
        () = interrupts.next() => return Ok(()),
    };
    if let Some(refusal) = runner.refusal() {
        let missing = &refusal.missing;
        return Err(format!(
            "{} is missing: {} To fix it: {}",
            missing.what, missing.consequence, missing.fix
        )
        .into());
    }
    if args.once {
        runner.restrict_to_device(None);
    }
    let runner = Arc::new(runner);
    let source = Arc::new(RemoteSource::new(
        args.join.as_str(),
        token,
        name.clone(),
        args.once,
    ));
    match source.report(&runner).await {
        Ok(()) => tracing::info!("{name} has joined {}", args.join),
        Err(ReportError::Refused(reason)) => {
            return Err(format!("{} refuses this host: {reason}", args.join).into());
        }
        Err(ReportError::Unreachable(reason)) => {
            tracing::warn!("{reason}; trying again");
        }
    }
    let (stop, shutdown) = shutdown();
    let reports = tokio::spawn(report(source.clone(), runner.clone(), shutdown.clone()));
    let jobs = tokio::spawn(run_jobs(runner, source.clone(), shutdown));
    let is_over = async {
        loop {
            sleep(END_CHECK).await;
            let progress = source.progress();
            let Some(idle) = progress.idle else { continue };
            if args.once && progress.has_claimed || args.idle_exit.is_some_and(|most| idle >= most)
            {
                return;
            }
        }
    };
    tokio::select! {
        () = is_over => {}
        () = interrupts.next() => {
            tracing::info!("stopping; running jobs are queued again. Press Ctrl-C again to stop immediately");
            tokio::spawn(async move {
                interrupts.next().await;
                process::exit(130);
            });
        }
    }
    stop.now();
    jobs.await?;
    reports.await?;
    Ok(())
}

/// Reports to the server at intervals.
async fn report(source: Arc<RemoteSource>, runner: Arc<Runner>, mut shutdown: Shutdown) {
    loop {
        tokio::select! {
            () = sleep(REPORT_INTERVAL) => {}
            () = shutdown.requested() => return,
        }
        match source.report(&runner).await {
            Ok(()) => {}
            Err(ReportError::Refused(reason) | ReportError::Unreachable(reason)) => {
                tracing::warn!("cannot report to the server: {reason}");
            }
        }
    }
}
