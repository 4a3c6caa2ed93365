//! `hipward fleet`: the hosts of a server, and for operators drains and maintenance. A client of the API.

use super::token_args::TokenArgs;
use crate::http_client::{self, server_address};
use clap::ValueEnum;
use hipward_protocol::{Fleet, FleetHost, HostState, Pause, Problem};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

/// Time within which the server must answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Arguments of `hipward fleet`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct Args {
    /// Address of the server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8717", value_parser = server_address, global = true)]
    host: String,
    #[command(flatten)]
    token: TokenArgs,
    /// How the hosts are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(subcommand)]
    action: Option<Action>,
}

/// How the hosts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Table,
    /// The answer of the API
    Json,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Let the running jobs of a host end, and start no others on it
    Drain {
        /// Its name
        name: String,
        /// Why, for users
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Start jobs on a drained host again
    Resume {
        /// Its name
        name: String,
    },
    /// Start no jobs on any host, or start them again
    Maintenance {
        /// Whether maintenance starts or ends
        #[arg(value_enum)]
        mode: Mode,
        /// Why, for users
        #[arg(long, default_value = "")]
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    On,
    Off,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    match answer(args) {
        Ok(text) => {
            // A closed pipe (`| head`) is not an error.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hipward fleet: {error}");
            ExitCode::from(2)
        }
    }
}

fn answer(args: &Args) -> Result<String, String> {
    let pause = |reason: &str| {
        Some(Pause {
            reason: reason.to_owned(),
        })
    };
    match &args.action {
        None => {
            let body = send(args, "GET", "/api/v1/fleet", None)?;
            match args.format {
                Format::Json => Ok(format!("{body}\n")),
                Format::Table => {
                    let fleet = serde_json::from_str(&body).map_err(|error| {
                        format!("{} has another version of Hipward: {error}", args.host)
                    })?;
                    Ok(table(&fleet))
                }
            }
        }
        Some(Action::Drain { name, reason }) => {
            let path = format!("/api/v1/hosts/{name}/drain");
            send(args, "PUT", &path, pause(reason))?;
            Ok(format!("{name} starts no more jobs; those that run end\n"))
        }
        Some(Action::Resume { name }) => {
            send(args, "DELETE", &format!("/api/v1/hosts/{name}/drain"), None)?;
            Ok(format!("{name} starts jobs\n"))
        }
        Some(Action::Maintenance { mode, reason }) => match mode {
            Mode::On => {
                send(args, "PUT", "/api/v1/maintenance", pause(reason))?;
                Ok("no host starts a job; those that run end, and others wait\n".to_owned())
            }
            Mode::Off => {
                send(args, "DELETE", "/api/v1/maintenance", None)?;
                Ok("hosts start jobs\n".to_owned())
            }
        },
    }
}

/// Sends a request. Returns the body of the answer.
fn send(
    args: &Args,
    method: &'static str,
    path: &str,
    body: Option<Pause>,
) -> Result<String, String> {
    let settings = http_client::settings()
        .max_redirects(0)
        .timeout_global(Some(TIMEOUT));
    let agent: ureq::Agent = settings.build().into();
    let url = format!("{}{path}", args.host);
    let mut request = ureq::http::Request::builder().method(method).uri(&url);
    if let Some(token) = args.token.read()? {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let sent = match body {
        None => request
            .body(())
            .map_err(|error| error.to_string())
            .and_then(|request| agent.run(request).map_err(|error| error.to_string())),
        Some(body) => {
            let body = serde_json::to_string(&body).map_err(|error| error.to_string())?;
            request
                .header("content-type", "application/json")
                .body(body)
                .map_err(|error| error.to_string())
                .and_then(|request| agent.run(request).map_err(|error| error.to_string()))
        }
    };
    let mut answer = sent.map_err(|error| format!("no answer from {}: {error}", args.host))?;
    let text = answer.body_mut().read_to_string();
    let text = text.map_err(|error| format!("no answer from {}: {error}", args.host))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(text);
    }
    Err(match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => format!("{}: {} {}", problem.title, problem.detail, problem.help),
        Err(_) => format!(
            "{url} answered with status {}, but not like a Hipward server",
            status.as_u16()
        ),
    })
}

/// The hosts as text: one line per device.
fn table(fleet: &Fleet) -> String {
    let mut rows = vec![["HOST", "STATE", "CONTACT", "DEVICE", "NAME", "JOB"].map(str::to_owned)];
    for host in &fleet.hosts {
        let contact = match host.last_contact_s {
            None => "this server".to_owned(),
            Some(seconds) => format!("{} ago", hipward_site::duration(seconds)),
        };
        let first = [host.name.clone(), state(host).to_owned(), contact];
        if host.devices.is_empty() {
            let [name, state, contact] = first.clone();
            rows.push([
                name,
                state,
                contact,
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
        for device in &host.devices {
            let job = device.job.as_ref().map_or_else(
                || "idle".to_owned(),
                |job| format!("{} ({})", job.id, hipward_site::duration(job.runs_s)),
            );
            let [name, state, contact] = first.clone();
            let prefix = format!("{name}/");
            let id = device.device.id.strip_prefix(&prefix);
            let id = id.unwrap_or(&device.device.id).to_owned();
            rows.push([name, state, contact, id, device.device.name.clone(), job]);
        }
    }
    let mut text = String::new();
    if let Some(reason) = &fleet.maintenance {
        text.push_str("Maintenance: no host starts a job");
        if !reason.is_empty() {
            let _ = write!(text, " ({reason})");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} queued, {} running, {} waiting for approval",
        fleet.queued, fleet.running, fleet.awaiting_approval
    );
    if fleet.hosts.is_empty() {
        text.push_str("no host; `hipward worker --join URL` on a host with a GPU adds it\n");
        return text;
    }
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in &rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for host in &fleet.hosts {
        let labels = host.labels.join(", ");
        if !labels.is_empty() {
            let _ = writeln!(text, "{} has the labels: {labels}", host.name);
        }
        if let Some(reason) = host.drain_reason.as_ref().filter(|text| !text.is_empty()) {
            let _ = writeln!(text, "{} is drained: {reason}", host.name);
        }
    }
    text
}

fn state(host: &FleetHost) -> &'static str {
    match host.state {
        HostState::Ready => "ready",
        HostState::Draining => "draining",
        HostState::Silent => "silent",
    }
}
