//! TOML files whose keys have line numbers for error messages.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigError, shown};

/// The text of a file.
pub(super) struct TomlText {
    pub(super) path: PathBuf,
    text: String,
}

/// A table and the path of its key.
pub(super) struct Section<'t> {
    pub(super) file: &'t TomlText,
    pub(super) path: String,
    pub(super) table: &'t DeTable<'t>,
}

/// A key with its value.
pub(super) struct Entry<'t> {
    pub(super) key: String,
    file: &'t TomlText,
    path: String,
    at: Range<usize>,
    pub(super) value: &'t DeValue<'t>,
}

/// A string value with its position.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) text: String,
    path: PathBuf,
    line: usize,
    key: String,
}

impl TomlText {
    pub(super) fn read(path: &Path) -> Result<TomlText, ConfigError> {
        let text = fs::read_to_string(path).map_err(|error| ConfigError {
            path: path.to_owned(),
            line: None,
            key: String::new(),
            message: format!("it cannot be read: {error}"),
        })?;
        Ok(TomlText {
            path: path.to_owned(),
            text,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'_>>, ConfigError> {
        DeTable::parse(&self.text).map_err(|error| ConfigError {
            path: self.path.clone(),
            line: error.span().map(|span| self.line(span.start)),
            key: String::new(),
            message: format!("it is not valid TOML: {}", error.message()),
        })
    }

    pub(super) fn error(
        &self,
        at: usize,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> ConfigError {
        ConfigError {
            path: self.path.clone(),
            line: Some(self.line(at)),
            key: key.into(),
            message: message.into(),
        }
    }

    /// The file and the line of a position.
    pub(super) fn place(&self, at: usize) -> String {
        format!("{}:{}", shown(&self.path), self.line(at))
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

impl<'t> Section<'t> {
    /// The keys. Fails for a key that is not in `known`.
    pub(super) fn entries(&self, known: &[&str]) -> Result<Vec<Entry<'t>>, ConfigError> {
        let entries = self.all();
        match entries
            .iter()
            .find(|entry| !known.contains(&entry.key.as_str()))
        {
            Some(entry) => {
                Err(entry.error(format!("unknown key; the keys are {}", known.join(", "))))
            }
            None => Ok(entries),
        }
    }

    /// All keys in the order of the file.
    pub(super) fn all(&self) -> Vec<Entry<'t>> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                file: self.file,
                path: self.path.clone(),
                at: key.span(),
                value: value.get_ref(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.at.start);
        entries
    }
}

impl<'t> Entry<'t> {
    /// The key with the names of its parent tables.
    fn full_key(&self) -> String {
        if self.path.is_empty() {
            self.key.clone()
        } else {
            format!("{}.{}", self.path, self.key)
        }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        self.file.error(self.at.start, self.full_key(), message)
    }

    pub(super) fn text(&self) -> Result<&'t str, ConfigError> {
        self.value
            .as_str()
            .ok_or_else(|| self.error("it must be a string"))
    }

    pub(super) fn texts(&self) -> Result<Vec<Written>, ConfigError> {
        let items = self.value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| Some(self.written(item.get_ref().as_str()?, item.span().start)))
                .collect()
        });
        items.ok_or_else(|| self.error("it must be a list of strings"))
    }

    /// The key itself as a value, where users choose its name.
    pub(super) fn name(&self) -> Written {
        self.written(&self.key, self.at.start)
    }

    fn written(&self, text: &str, at: usize) -> Written {
        Written {
            text: text.to_owned(),
            path: self.file.path.clone(),
            line: self.file.line(at),
            key: self.full_key(),
        }
    }

    pub(super) fn section(&self) -> Result<Section<'t>, ConfigError> {
        let table = self
            .value
            .as_table()
            .ok_or_else(|| self.error("it must be a table"))?;
        Ok(Section {
            file: self.file,
            path: self.full_key(),
            table,
        })
    }
}

impl Written {
    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError {
            path: self.path.clone(),
            line: Some(self.line),
            key: self.key.clone(),
            message: message.into(),
        }
    }
}

impl AsRef<str> for Written {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
