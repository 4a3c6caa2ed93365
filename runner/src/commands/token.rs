//! Where a token comes from. Not from the command line, which every process of this machine can read.

use std::{env, fs, path::PathBuf};

/// The variable that holds it where no file does.
pub(crate) const VARIABLE: &str = "HIPWARD_TOKEN";

/// How a token is given.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TokenArgs {
    /// File with the token for running code [default: the token in $HIPWARD_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Was the token itself
    #[arg(long, value_name = "TOKEN", hide = true)]
    token: Option<String>,
}

impl TokenArgs {
    /// The token, if one is given.
    pub(crate) fn read(&self) -> Result<Option<String>, String> {
        if self.token.is_some() {
            return Err(format!(
                "--token TOKEN would show the token to every process of this machine; put it into a file of yours and \
                 use --token-file FILE, or into the environment variable {VARIABLE}"
            ));
        }
        let token = match &self.token_file {
            Some(file) => {
                let name = file.display();
                let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
                let token = text.trim_end_matches(['\r', '\n']).to_owned();
                if token.is_empty() {
                    return Err(format!("{name} is empty; it must hold the token"));
                }
                Some(token)
            }
            None => env::var(VARIABLE).ok().filter(|token| !token.is_empty()),
        };
        match token {
            Some(token) if !can_be_sent(&token) => Err(
                "no header can carry this token; choose one of ASCII letters, digits and signs"
                    .to_owned(),
            ),
            token => Ok(token),
        }
    }
}

/// True for what arrives as it was written when a browser puts it into a header.
fn can_be_sent(token: &str) -> bool {
    token.trim() == token && token.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
