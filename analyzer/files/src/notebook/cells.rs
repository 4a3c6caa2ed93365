//! The positions of a notebook's code in its JSON text. `module.rs` joins them.

use std::ops::Range;

use crate::json::Reader;

/// The code cells of a notebook.
pub(super) struct Notebook {
    pub(super) cells: Vec<Cell>,
    pub(super) is_python: bool,
}

/// A code cell: the contents of the JSON strings of its source.
pub(super) struct Cell {
    /// Its number among all cells, from 1.
    pub(super) number: usize,
    pub(super) strings: Vec<Range<usize>>,
    /// Its source is a list of lines, not one string.
    is_list: bool,
}

impl Cell {
    /// `",
    /// "`, with the formatting of the file's own lists.
    pub(super) fn between(&self, source: &str) -> Option<String> {
        let first = self.strings.first().filter(|_| self.is_list)?;
        let text = match self.strings.get(1) {
            Some(second) => source.get(first.end..second.start)?.to_owned(),
            None => {
                let before = source.get(..first.start.checked_sub(1)?)?;
                let space = before.len() - before.trim_end().len();
                format!("\",{}\"", before.get(before.len() - space..)?)
            }
        };
        Some(text)
    }
}

/// Finds the code cells; on failure, returns the position at which the text is no longer a notebook.
pub(super) fn cells(source: &str) -> Result<Notebook, usize> {
    let mut reader = Reader::new(source);
    let mut notebook = Notebook {
        cells: Vec::new(),
        is_python: true,
    };
    let mut has_cells = false;
    let found = reader.object(|reader, key| match key {
        "cells" => {
            has_cells = true;
            let mut number = 0;
            reader.list(|reader| {
                number += 1;
                notebook.cells.extend(reader.cell(number)?);
                Some(())
            })
        }
        "metadata" => {
            let start = reader.at;
            reader.skip()?;
            notebook.is_python = is_python(source.get(start..reader.at).unwrap_or_default());
            Some(())
        }
        _ => reader.skip(),
    });
    match found {
        Some(()) if has_cells => Ok(notebook),
        // The notebook is incomplete: the cells before the end are valid.
        _ if !notebook.cells.is_empty() => Ok(notebook),
        _ => Err(reader.at),
    }
}

/// The kernel's language, if the notebook contains it.
fn is_python(metadata: &str) -> bool {
    let mut reader = Reader::new(metadata);
    let mut language = None;
    let mut value = |reader: &mut Reader<'_>, wanted: &str| {
        reader.object(|reader, key| {
            reader.space();
            if key == wanted && reader.peek() == Some(b'"') {
                let string = reader.string()?;
                language = metadata.get(string).map(str::to_ascii_lowercase);
                return Some(());
            }
            reader.skip()
        })
    };
    reader.object(|reader, key| match key {
        "kernelspec" => value(reader, "language"),
        "language_info" => value(reader, "name"),
        _ => reader.skip(),
    });
    language.is_none_or(|language| language.contains("python"))
}

impl Reader<'_> {
    /// The next cell, if it is a code cell.
    fn cell(&mut self, number: usize) -> Option<Option<Cell>> {
        let mut is_code = false;
        let mut strings = Vec::new();
        let mut is_list = false;
        self.object(|reader, key| match key {
            "cell_type" => {
                let kind = reader.string()?;
                is_code = reader.source.get(kind) == Some("code");
                Some(())
            }
            "source" => {
                reader.space();
                if reader.peek() == Some(b'"') {
                    strings.push(reader.string()?);
                    return Some(());
                }
                is_list = true;
                reader.list(|reader| {
                    strings.push(reader.string()?);
                    Some(())
                })
            }
            _ => reader.skip(),
        })?;
        Some(is_code.then_some(Cell {
            number,
            strings,
            is_list,
        }))
    }
}
