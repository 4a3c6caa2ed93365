//! Tables of comma-separated values.

/// A file with a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a file; a row that is not as long as the header is left out.
    pub(crate) fn parse(csv: &str) -> Table {
        let mut records = records(csv).into_iter().map(|(record, _)| record);
        let columns = records.next().unwrap_or_default();
        let rows = records.filter(|row| row.len() == columns.len()).collect();
        Table { columns, rows }
    }

    /// The rows with that text in a column.
    pub(crate) fn matching(&self, column: &str, text: &str) -> Table {
        let rows = self
            .rows
            .iter()
            .enumerate()
            .filter(|(row, _)| self.field(*row, column) == text)
            .map(|(_, fields)| fields.clone())
            .collect();
        Table {
            columns: self.columns.clone(),
            rows,
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, each as long as [`Table::columns`].
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A field; empty where there is no such column or row.
    pub(crate) fn field(&self, row: usize, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        index
            .and_then(|index| self.rows.get(row)?.get(index))
            .map_or("", String::as_str)
    }

    /// The distinct texts of a column, in order.
    pub(crate) fn distinct(&self, column: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for row in 0..self.len() {
            let text = self.field(row, column);
            if !text.is_empty() && !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }
}

/// Records that are not empty, each with the line it begins on. A record that is not valid UTF-8 is left out.
pub(super) fn records(text: &str) -> Vec<(Vec<String>, usize)> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    reader
        .records()
        .flatten()
        .map(|record| {
            let line = record
                .position()
                .map_or(0, |position| position.line() as usize);
            (record.iter().map(str::to_owned).collect(), line)
        })
        .filter(|(record, _): &(Vec<String>, usize)| record.iter().any(|field| !field.is_empty()))
        .collect()
}
