//! `hipward lsp`: the language server on standard input and output.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::config::Overrides;
use crate::lsp::{Settings, serve};

/// The address of `hipward serve` on this machine, whose pages diagnostics link to by default.
pub(super) const DEFAULT_SITE: &str = "http://127.0.0.1:8717/";

/// Options of `hipward lsp`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder of team rules (TOML), which overrides the configuration files
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// The site that diagnostics link to, such as the address of `hipward serve`
    #[arg(long, value_name = "URL", default_value = DEFAULT_SITE)]
    site: String,
    /// Accepted because editors pass it; the server always uses standard input and output
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Serves until the editor ends it.
pub(crate) fn run(args: Args) -> ExitCode {
    let settings = Settings {
        overrides: Overrides {
            rules: args.rules,
            ..Overrides::default()
        },
        site: format!("{}/", args.site.trim_end_matches('/')),
    };
    match serve(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hipward lsp: {error}");
            ExitCode::FAILURE
        }
    }
}
