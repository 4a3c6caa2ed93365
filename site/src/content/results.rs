//! The results file: measurements that were recorded, each with its conditions.
//!
//! Columns are shown as they are named; the file determines what is shown.

use super::Mistake;
use super::csv::records;
use std::collections::BTreeMap;

/// Rows of `results.csv` by their `id`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// Column names, without `id`.
    pub(crate) columns: Vec<String>,
    rows: BTreeMap<String, Vec<String>>,
}

impl Results {
    /// Reads a CSV file whose first column is `id`.
    pub(crate) fn parse(csv: &str) -> Result<Self, (Mistake, usize)> {
        let mut lines = records(csv).into_iter();
        let Some((header, _)) = lines.next() else {
            return Ok(Results::default());
        };
        if header.first().map(String::as_str) != Some("id") {
            let mistake = "the first column of results.csv must be `id`";
            return Err((Mistake::Results(mistake.to_owned()), 1));
        }
        let mut rows = BTreeMap::new();
        for (mut record, line) in lines {
            if record.len() != header.len() {
                let mistake = format!(
                    "the row has {} fields and the header {}",
                    record.len(),
                    header.len()
                );
                return Err((Mistake::Results(mistake), line));
            }
            let id = record.remove(0);
            if rows.insert(id.clone(), record).is_some() {
                return Err((Mistake::Twice(id), line));
            }
        }
        Ok(Results {
            columns: header.into_iter().skip(1).collect(),
            rows,
        })
    }

    /// The fields of one row, in the order of [`Results::columns`].
    pub(crate) fn row(&self, id: &str) -> Option<&[String]> {
        self.rows.get(id).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_may_hold_commas_quotes_and_line_feeds() {
        let results = Results::parse("id,what,ms\na,\"one, \"\"two\"\"\nthree\",0.5\n\nb,x,1\n")
            .expect("well-formed");
        assert_eq!(results.columns, ["what", "ms"]);
        assert_eq!(
            results.row("a"),
            Some(&["one, \"two\"\nthree".to_owned(), "0.5".to_owned()][..])
        );
        assert_eq!(results.row("c"), None);
    }

    #[test]
    fn a_short_row_is_a_mistake_with_its_line() {
        let (_, line) = Results::parse("id,ms\n\"a\nb\",1\nc\n").expect_err("two fields wanted");
        assert_eq!(line, 4);
    }
}
