//! Reference tables: one TOML file each under `content/reference/`.

use super::error::{ContentError, Mistake};
use super::read_toml;
use serde::Deserialize;

/// The column whose cells are rule names, shown as links.
pub(crate) const RULE_COLUMN: &str = "Rule";

/// A table to look things up in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reference {
    /// From the file's name: `libraries`.
    #[serde(skip)]
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) columns: Vec<String>,
    /// As many cells a row as there are columns; plain text.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) sources: Vec<Source>,
}

/// Where the rows come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) url: String,
}

impl Reference {
    pub(super) fn parse(path: &str, slug: &str, text: &str) -> Result<Self, ContentError> {
        let mut table: Reference = read_toml(text, path, 1)?;
        if let Some(row) = table
            .rows
            .iter()
            .position(|row| row.len() != table.columns.len())
        {
            return Err(Mistake::RowLength(row + 1).at(path, 1));
        }
        slug.clone_into(&mut table.slug);
        Ok(table)
    }
}
