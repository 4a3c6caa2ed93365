//! Reference tables: one TOML file each under `content/reference/`.

use super::error::{ContentError, Mistake};
use super::{gpu_table, read_toml};
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
    /// Where columns, rows and sources come from, if they are not in the file.
    /// Words and phrases that readers search for and for which this table is the best answer.
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
    #[serde(default)]
    generate: Option<Generator>,
    #[serde(default)]
    pub(crate) columns: Vec<String>,
    /// As many cells in a row as there are columns; plain text.
    #[serde(default)]
    pub(crate) rows: Vec<Vec<String>>,
    #[serde(default)]
    pub(crate) sources: Vec<Source>,
}

/// A generator of a table's content.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Generator {
    /// The facts about GPUs in `hipward_gpu_facts`.
    Gpus,
}

/// Where the rows come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) url: String,
}

impl Reference {
    pub(super) fn parse(path: &str, slug: &str, text: &str) -> Result<Self, Vec<ContentError>> {
        let mut table: Reference = read_toml(text, path, 1)?;
        if let Some(Generator::Gpus) = table.generate {
            table.columns = gpu_table::columns();
            table.rows = gpu_table::rows();
            table.sources = gpu_table::sources();
        }
        if let Some(row) = table
            .rows
            .iter()
            .position(|row| row.len() != table.columns.len())
        {
            return Err(Mistake::RowLength(row + 1).at(path, 1).into());
        }
        slug.clone_into(&mut table.slug);
        Ok(table)
    }
}
