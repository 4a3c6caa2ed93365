//! `run` blocks: a command and the output that was recorded of it.

use super::Mistake;
use super::source::Folder;
use serde::Deserialize;

/// The body of a `run` block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TranscriptBody {
    command: String,
    output: String,
    recorded: String,
    /// Used by `content/check.py`, which then runs the command and compares the output.
    #[serde(default, rename = "exact")]
    _exact: bool,
}

/// A command with its recorded output.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    pub(crate) command: String,
    pub(crate) output: String,
    /// When and where the output was recorded.
    pub(crate) recorded: String,
}

impl TranscriptBody {
    pub(crate) fn read(self, folder: &Folder<'_>) -> Result<Transcript, Mistake> {
        let output = folder.text(&self.output)?.trim_end().to_owned();
        if output.is_empty() || self.recorded.trim().is_empty() {
            return Err(Mistake::Transcript(self.output));
        }
        Ok(Transcript {
            command: self.command,
            output,
            recorded: self.recorded,
        })
    }
}
