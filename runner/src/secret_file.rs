//! Secrets that the operator has written into files.

use std::{fs, path::Path};

/// Minimum length of a secret, bytes.
pub(crate) const MIN_LENGTH: usize = 16;

/// The text of a file without the line end. Fails with a sentence, which ends with `advice` if the secret is too short.
pub(crate) fn read(file: &Path, advice: &str) -> Result<String, String> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.len() < MIN_LENGTH {
        return Err(format!("the secret in {name} is too short; {advice}"));
    }
    Ok(secret.to_owned())
}
