//! The rows that the course must teach, `content/coverage.toml`, and the pages that teach them, the `coverage.toml` of each
//! part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn content() -> PathBuf {
    hipward_tests::root().join("content")
}

fn read(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A table of texts in a file.
fn texts(path: &Path, table: &str) -> BTreeMap<String, String> {
    let file = read(path);
    let rows = file[table].as_table().expect("a table");
    rows.iter()
        .map(|(row, text)| (row.clone(), text.as_str().expect("a text").to_owned()))
        .collect()
}

/// The folders with a coverage.toml: parts, and the reference tables.
fn parts() -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = fs::read_dir(content())
        .expect("content/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("coverage.toml").is_file())
        .collect();
    parts.sort();
    parts
}

/// The pages of a part, by folder names without numbers, or the tables in the folder.
fn pages(part: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(part).expect("a part");
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            if path.join("lesson.md").is_file() {
                return Some(name.split_once('-')?.1.to_owned());
            }
            Some(name.strip_suffix(".toml")?.to_owned())
        })
        .collect()
}

#[test]
fn every_row_is_taught_by_a_page_that_exists() {
    let list = content().join("coverage.toml");
    let rows = texts(&list, "rows");
    let not_applicable = texts(&list, "not_applicable");
    let mut errors = Vec::new();
    let mut taught = BTreeMap::new();
    for part in parts() {
        let file = part.join("coverage.toml");
        let pages = pages(&part);
        for (row, page) in texts(&file, "rows") {
            if !pages.contains(&page) {
                errors.push(format!("{}: row {row}: no page {page}", file.display()));
            }
            if !rows.contains_key(&row) && !not_applicable.contains_key(&row) {
                errors.push(format!("{}: unknown row {row}", file.display()));
            }
            taught.insert(row, page);
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));

    let missing: Vec<(&String, &String)> = rows
        .iter()
        .filter(|(row, _)| !taught.contains_key(*row))
        .collect();
    assert!(missing.is_empty(), "no page teaches {missing:#?}");
}
