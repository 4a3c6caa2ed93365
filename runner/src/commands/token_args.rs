//! Reads the token: from a file or the environment, not from the command line, which every process of this machine can read.

use std::{env, fs, path::PathBuf};

use crate::TOKEN_VARIABLE;

/// Arguments for the token.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TokenArgs {
    /// File with the token for running code [default: the token in $HIPWARD_TOKEN]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// No longer supported; reports how to pass the token
    #[arg(long, value_name = "TOKEN", hide = true, global = true)]
    token: Option<String>,
}

impl TokenArgs {
    /// Reads the token, if one is configured.
    pub(crate) fn read(&self) -> Result<Option<String>, String> {
        if self.token.is_some() {
            return Err(format!(
                "--token TOKEN would show the token to every process of this machine; write it to a file that only you can read and \
                 use --token-file FILE, or into the environment variable {TOKEN_VARIABLE}"
            ));
        }
        let token = match &self.token_file {
            Some(file) => {
                let name = file.display();
                let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
                let token = text.trim_end_matches(['\r', '\n']).to_owned();
                if token.is_empty() {
                    return Err(format!("{name} is empty; it must contain the token"));
                }
                Some(token)
            }
            None => env::var(TOKEN_VARIABLE)
                .ok()
                .filter(|token| !token.is_empty()),
        };
        match token {
            Some(token) if !can_be_sent(&token) => Err(
                "this token cannot be sent in a header; use ASCII letters, digits and punctuation"
                    .to_owned(),
            ),
            token => Ok(token),
        }
    }
}

/// Whether a browser sends the token unchanged in a header.
fn can_be_sent(token: &str) -> bool {
    token.trim() == token && token.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
