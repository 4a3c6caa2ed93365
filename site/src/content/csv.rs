//! Comma-separated values, as far as recorded results need them: quoted fields, and the line each record begins on.

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

    /// How many rows there are.
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

    /// What a column holds, each text once, in order.
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

/// Records with the line each begins on. Fields may be quoted, with `""` for a quote.
pub(super) fn records(csv: &str) -> Vec<(Vec<String>, usize)> {
    let mut records = Vec::new();
    let (mut record, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let (mut line, mut start) = (1, 1);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push((std::mem::take(&mut record), start));
                start = line + 1;
            }
            '\r' if !quoted => {}
            c => field.push(c),
        }
        line += usize::from(c == '\n');
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push((record, start));
    }
    records.retain(|(record, _)| record.iter().any(|field| !field.is_empty()));
    records
}
