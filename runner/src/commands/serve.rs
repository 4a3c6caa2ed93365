//! `hipward serve`: site, API and local runner on one address.

use super::{
    data::DataArgs,
    database::DatabaseArgs,
    host::{HostArgs, LabelArgs, Senders, age, bytes, seconds},
    oidc_args::OidcArgs,
    public_args::PublicArgs,
    service,
    token_args::TokenArgs,
};
use crate::{
    api::{AccessConfig, ProxyAuth},
    connections::ClientLimits,
    jobs::{LocalRunner, Retention, Runner, Settings, Store, lock_data_folder, random_id},
    server::{Server, listen},
    shutdown::Interrupts,
    web::{
        addresses,
        live_pages::LivePages,
        pages::{Pages, SiteOptions},
    },
    webhook::{self, Webhooks},
};
use axum::http::{HeaderName, header};
use hipward_site::OWN_RUNNER;
use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    process::{self, ExitCode},
    time::Duration,
};
use tokio::task::spawn_blocking;

/// Arguments of `hipward serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8717")]
    bind: SocketAddr,
    /// Serve this content folder instead of the built-in lessons, and load it again when a file changes
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    #[command(flatten)]
    token: TokenArgs,
    /// Run code without a token for all users of this machine, and for no request from a network [default: a token is required, random unless one is passed]
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    /// Header in which an authenticating proxy sends the name of the user, who may then run code
    #[arg(long, value_name = "NAME", value_parser = auth_header)]
    auth_header: Option<HeaderName>,
    /// Accept that header from this address [default: from this machine]
    #[arg(long, value_name = "ADDRESS", requires = "auth_header")]
    trusted_proxy: Vec<IpAddr>,
    /// User of the proxy who is an operator
    #[arg(long, value_name = "USER", requires = "auth_header")]
    auth_operator: Vec<String>,
    #[command(flatten)]
    oidc: OidcArgs,
    /// Also answer requests for this host name, which a proxy forwards
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Run no jobs on this machine; hosts join with `hipward worker`
    #[arg(long)]
    no_runner: bool,
    /// Also answer requests that pages of this origin send, such as https://wiki.example; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = addresses::origin)]
    allow_origin: Vec<String>,
    /// Offer the runner at this address beside this server's own; it must allow this site with --allow-origin; may be repeated
    #[arg(long, value_name = "URL", value_parser = addresses::runner)]
    runner: Vec<String>,
    /// Run code only after an operator has approved it at /jobs/approvals/; the operator's own code runs at once
    #[arg(long)]
    approve: bool,
    /// Let visitors without a token run the benchmarks of the site's pages, unchanged
    #[arg(long)]
    anonymous_benchmarks: bool,
    /// Add a team's own rules (TOML) to the playground
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    public: PublicArgs,
    /// Delete jobs this long after their end, such as 90d [default: never]
    #[arg(long, value_name = "AGE", value_parser = age)]
    retention: Option<Duration>,
    /// Delete the oldest jobs when all of them take more space, such as 20GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    retention_size: Option<u64>,
    /// Send a request to this address when a job has ended, signed with --webhook-secret; may be repeated
    #[arg(long, value_name = "URL", requires = "webhook_secret", value_parser = webhook::address)]
    webhook: Vec<String>,
    /// File with the secret that signs the requests to --webhook
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_secret: Option<PathBuf>,
    /// Maximum number of open connections
    #[arg(
        long,
        value_name = "CONNECTIONS",
        default_value = "4096",
        hide_short_help = true
    )]
    max_connections: usize,
    /// Time within which a client must send its request, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, hide_short_help = true)]
    request_timeout: Duration,
    /// Log each response: method, path, status, client and time
    #[arg(long, hide_short_help = true)]
    log_requests: bool,
    /// Time after its renewal for which a lease is valid, in seconds: shortens tests
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide = true)]
    lease_time: Option<Duration>,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    labels: LabelArgs,
}

/// Serves until it is stopped.
pub(crate) fn run(args: Args) -> ExitCode {
    service::run(serve(args))
}

async fn serve(args: Args) -> Result<(), Box<dyn Error>> {
    // Snippets that run as this process's user must not be able to inspect it.
    nix::sys::prctl::set_dumpable(false)?;
    let configured = args.token.read()?;
    // A random token is printed for the operator and is not stored.
    let random = if configured.is_none() && !args.no_token {
        Some(random_id()?)
    } else {
        None
    };
    let access = AccessConfig {
        token: random.clone().or(configured.filter(|_| !args.no_token)),
        hosts: args.allow_host,
        origins: args.allow_origin,
        approve: args.approve,
        anonymous_benchmarks: args.anonymous_benchmarks,
        proxy: args.auth_header.map(|header| ProxyAuth {
            header,
            proxies: args.trusted_proxy,
            operators: args.auth_operator,
        }),
        oidc: args.oidc.read(args.public.origin(), args.bind)?,
    };
    let senders = if random.is_some() && access.is_local(args.bind) {
        Senders::Operator
    } else {
        Senders::Others
    };
    let data = args.data.folder()?;
    let settings = Settings {
        labels: args.labels.label,
        ..args.host.settings(data, senders)?
    };
    let mut runners = args.runner;
    if !runners.is_empty() {
        runners.insert(0, OWN_RUNNER.to_owned());
    }
    let options = SiteOptions {
        rules: args.rules,
        runners,
        public: args.public.into(),
        signs_in: access.oidc.is_some(),
        ..SiteOptions::default()
    };
    let pages = match &args.content {
        Some(folder) => LivePages::watch(folder, &options)?,
        None => LivePages::fixed(Pages::load(None, &options)?),
    };
    let database = args.database.url()?;
    let authority = args.database.authority();
    if database.is_some() && args.retention_size.is_some() {
        return Err("--retention-size is for the database in the data folder; use --retention with --database".into());
    }
    let folder = settings.data.clone();
    // Two servers must not use the same folders for workers.
    let _lock = match database {
        Some(_) => Some(lock_data_folder(&folder)?),
        None => None,
    };
    let opened = spawn_blocking(move || match database {
        Some(url) => Store::connect(&url, authority.as_deref()),
        None => Store::open(&folder),
    });
    let store = opened.await??;
    let webhooks = args
        .webhook_secret
        .as_deref()
        .map(Webhooks::with_secret_file)
        .transpose()?;
    store.set_webhooks(args.webhook);
    if let Some(valid) = args.lease_time {
        store.set_lease_time(valid);
    }
    if let Some(limit) = settings.running_limit {
        store.limit_running(limit);
    }
    let recovered = store.with(Store::recover).await?;
    if recovered.queued + recovered.failed > 0 {
        tracing::info!(
            "interrupted by the last stop: {} jobs run again, {} failed",
            recovered.queued,
            recovered.failed
        );
    }
    let (listener, bound) = listen(args.bind).await?;
    if let Some(oidc) = access.oidc.clone() {
        tokio::spawn(async move {
            if let Err(error) = oidc.check().await {
                tracing::warn!("users cannot sign in yet: {error}");
            }
        });
    }
    let authenticates = access.token.is_some() || access.proxy.is_some() || access.oidc.is_some();
    if !access.is_local(bound) && !authenticates {
        tracing::warn!(
            "this server can be reached from a network and has no token, so it runs no code; \
             start it without --no-token to run code for requests with the token"
        );
    }

    let mut interrupts = Interrupts::listen()?;
    match random {
        // A browser that opens this address may run code.
        Some(token) => println!("Hipward is at http://{bound}/?token={token}"),
        None => println!("Hipward is at http://{bound}/"),
    }
    let runner = match args.no_runner {
        true => LocalRunner::ready(Runner::absent(settings)),
        false => LocalRunner::start(settings, log_capabilities),
    };
    let stop_requested = async move {
        interrupts.next().await;
        tracing::info!(
            "stopping; running jobs will run again after the next start. Press Ctrl-C again to stop immediately"
        );
        // Otherwise the server waits for open requests. Supervisors end with this process.
        tokio::spawn(async move {
            interrupts.next().await;
            process::exit(130);
        });
    };
    let retention = Retention {
        max_age: args.retention,
        max_bytes: args.retention_size,
    };
    let server = Server {
        access,
        store,
        runner,
        pages,
        retention,
        limits: ClientLimits {
            connections: args.max_connections,
            request_timeout: args.request_timeout,
        },
        log_requests: args.log_requests,
        webhooks,
    };
    server.run(listener, stop_requested).await?;
    Ok(())
}

/// The name of the header with a proxy's user. Headers with another meaning are refused, because the server removes the header
/// from requests that do not come from the proxy.
fn auth_header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName = text.parse().map_err(|_| "not a header name".to_owned())?;
    let others = [
        header::AUTHORIZATION,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::COOKIE,
        header::HOST,
        header::ORIGIN,
        header::TRANSFER_ENCODING,
    ];
    if others.contains(&name) {
        return Err("this header has another meaning; use one such as X-Forwarded-User".to_owned());
    }
    Ok(name)
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
