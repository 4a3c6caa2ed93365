//! `hipward token`: creates, lists and removes the tokens of a team. A running server applies changes at once.

use super::{backup::exit_code, data::DataArgs, database::DatabaseArgs, host::age};
use crate::{api::is_user_name, jobs::Role};
use std::{process::ExitCode, time::Duration};

/// Arguments of `hipward token`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a token and print it; it is not shown again
    Add {
        /// Name of the person or program that gets it; stored with its jobs
        #[arg(value_parser = name)]
        name: String,
        /// What it permits
        #[arg(long, value_enum, default_value_t = Role::Submit)]
        role: Role,
        /// Time until it expires, such as 90d [default: never]
        #[arg(long, value_name = "AGE", value_parser = age)]
        expires: Option<Duration>,
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// List the tokens
    List {
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Remove a token, which is invalid from then on; its jobs stay
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        database: DatabaseArgs,
    },
}

/// Runs the command.
pub(crate) fn run(args: Args) -> ExitCode {
    exit_code(apply(args.action))
}

fn apply(action: Action) -> Result<String, String> {
    match action {
        Action::Add {
            name,
            role,
            expires,
            data,
            database,
        } => database
            .open_beside_server(data)?
            .add_token(&name, role, expires)
            .map_err(|error| error.to_string()),
        Action::List { data, database } => {
            let tokens = database.open_beside_server(data)?.tokens();
            let tokens = tokens.map_err(|error| error.to_string())?;
            if tokens.is_empty() {
                return Ok("no tokens; `hipward token add NAME` creates one".to_owned());
            }
            let lines = tokens.iter().map(|token| {
                let end = match &token.expires_at {
                    Some(end) if token.is_expired() => format!("expired {end}"),
                    Some(end) => format!("expires {end}"),
                    None => "does not expire".to_owned(),
                };
                format!(
                    "{:20} {:8} created {}, {end}",
                    token.name,
                    token.role.name(),
                    token.created_at
                )
            });
            Ok(lines.collect::<Vec<_>>().join("\n"))
        }
        Action::Remove {
            name,
            data,
            database,
        } => {
            let removed = database.open_beside_server(data)?.remove_token(&name);
            match removed.map_err(|error| error.to_string())? {
                true => Ok(format!("{name} is removed")),
                false => Err(format!(
                    "there is no token named {name}; `hipward token list` lists them"
                )),
            }
        }
    }
}

/// Names are printed in lists and logs.
fn name(text: &str) -> Result<String, String> {
    if !is_user_name(text) {
        return Err(
            "use up to 64 letters, digits, and - _ . @ +; `anonymous` is reserved".to_owned(),
        );
    }
    Ok(text.to_owned())
}
