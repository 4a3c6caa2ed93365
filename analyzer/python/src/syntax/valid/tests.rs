//! The trees of this parser are those of the grammar's.

use std::fs;
use std::path::{Path, PathBuf};

use super::parse;
use crate::syntax::{is_read_alike, random_below};

/// Sources that this parser reads. `\n` is a line break, `\r` a carriage return and `\t` a tab.
const READ: &str = include_str!("tests/read.txt");

/// Sources that it leaves to the grammar.
const LEFT: &str = include_str!("tests/left.txt");

fn sources(list: &str) -> impl Iterator<Item = String> {
    list.lines().map(|line| {
        let line = line.replace("\\n", "\n").replace("\\r", "\r");
        line.replace("\\t", "\t").replace("\\0", "\0")
    })
}

#[test]
fn every_construct_has_the_tree_of_the_grammar() {
    for source in sources(READ) {
        assert!(parse(&source).is_some(), "not read: {source}");
        assert!(is_read_alike(&source), "read differently: {source}");
    }
    assert!(parse("").is_some() && is_read_alike(""));
}

#[test]
fn errors_and_ambiguities_are_left_to_the_grammar() {
    for source in sources(LEFT) {
        assert!(parse(&source).is_none(), "{source}");
    }
    let deep = format!("x = {}{}", "(".repeat(200), ")".repeat(200));
    assert!(parse(&deep).is_none());
    let long = format!("x = {}1", "1 + ".repeat(2000));
    assert!(parse(&long).is_none());
}

/// The Python sources of the fixtures and lessons.
fn files() -> Vec<PathBuf> {
    fn add(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(folder).expect("a folder");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                add(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "py") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    add(&crates.join("../tests"), &mut found);
    add(&crates.join("../../content"), &mut found);
    found.sort();
    found
}

fn texts() -> Vec<String> {
    // One fixture is not UTF-8.
    let read = |path| String::from_utf8(fs::read(path).expect("a file")).ok();
    files().iter().filter_map(read).collect()
}

#[test]
fn sources_have_the_tree_of_the_grammar() {
    let texts = texts();
    for text in &texts {
        assert!(is_read_alike(text), "read differently: {text}");
    }
    let read = texts.iter().filter(|text| parse(text).is_some()).count();
    assert!(read * 20 > texts.len() * 19, "{read} of {}", texts.len());
}

#[test]
fn edited_parts_of_sources_have_the_tree_of_the_grammar() {
    const PIECES: &str = "( ) [ ] { } , : = * ** . ; ' \" f' # \\ @ -> := - | & ^ ~ ! é 1 a in is not if else for \
        lambda async await yield print type match with as del import from return except try: class def global raise";
    let pieces: Vec<&str> = PIECES
        .split(' ')
        .chain(["\n", "\n    ", "\r\n", "\\\n", " "])
        .collect();
    let texts = texts();
    let mut below = random_below(11);
    let mut read = 0;
    for _ in 0..20_000 {
        let lines: Vec<&str> = texts[below(texts.len())].split_inclusive('\n').collect();
        let first = below(lines.len());
        let last = (first + 1 + below(12)).min(lines.len());
        let mut text = String::new();
        let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let margin = lines.get(first).map_or(0, |line| indent(line));
        for line in lines.get(first..last).unwrap_or_default() {
            text.push_str(&line[margin.min(indent(line))..]);
        }
        for _ in 0..below(4) {
            let start = text.floor_char_boundary(below(text.len() + 1));
            let end = text.ceil_char_boundary(start + below(7));
            let piece = pieces[below(pieces.len())];
            let is_removed = below(3) == 0;
            text.replace_range(start..end, if is_removed { "" } else { piece });
        }
        assert!(is_read_alike(&text), "read differently: {text:?}");
        read += usize::from(parse(&text).is_some());
    }
    assert!(read > 2_000, "{read}");
}
