//! The statements of porting guides with their verdicts, `content/reference/claims.toml`.

use super::error::ContentError;
use super::read_toml;
use serde::Deserialize;

/// Its name in `reference/` and in its address.
pub(crate) const SLUG: &str = "claims";

/// The list of statements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    pub(crate) title: String,
    pub(crate) summary: String,
    #[serde(rename = "document")]
    documents: Vec<Guide>,
    #[serde(rename = "claim")]
    pub(crate) list: Vec<Claim>,
}

/// A guide that makes statements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guide {
    id: u32,
    pub(crate) title: String,
    pub(crate) url: String,
}

/// A statement with its verdict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// `guide:row`.
    seed: String,
    /// Markdown without blocks.
    pub(crate) statement: String,
    pub(crate) verdict: Verdict,
    /// Our measurement with its conditions; empty if there is none.
    pub(crate) measured: String,
    /// The evidence for the verdict.
    pub(crate) source: String,
    /// Its address; empty for a file of this repository.
    pub(crate) url: String,
    /// The page that teaches it, as `part/lesson`.
    pub(crate) lesson: String,
}

/// The result of checking a statement.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Wrong,
    Depends,
    Holds,
    Unmeasured,
}

impl Claims {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Vec<ContentError>> {
        read_toml(text, path, 1)
    }

    /// The guide that makes a statement.
    pub(crate) fn guide(&self, claim: &Claim) -> Option<&Guide> {
        let (guide, _) = claim.seed.split_once(':')?;
        let id: u32 = guide.parse().ok()?;
        self.documents.iter().find(|guide| guide.id == id)
    }
}
