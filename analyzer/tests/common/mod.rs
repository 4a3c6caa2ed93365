//! Shared by the tests: targets written as `python=3.10 arch=gfx950`, the code blocks of rules' pages, and the
//! fixtures.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod work;

use std::fs;
use std::path::{Path, PathBuf};

use hipward_analyzer::{Arch, Language, Libraries, Options, Selection, Target, Version};

/// Options for a target written as `python=3.10 torch=2.8 rocm=6.4 arch=gfx90a`; other values are defaults. With
/// `select=kernel-launch` only that rule runs; `libraries=roc` selects the roc libraries.
pub(crate) fn options(language: Language, words: &str) -> Options {
    let mut target = Target::default();
    let mut rules = Selection::default();
    let mut libraries = Libraries::default();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("key=value");
        let version = || Version::try_from(value.to_owned()).expect("a version");
        match key {
            "python" => target.python = version(),
            "torch" => target.torch = version(),
            "rocm" => target.rocm = version(),
            "arch" => {
                target.arch = Arch::of_name(value).expect("an architecture");
            }
            "libraries" => {
                let known = Libraries::ALL.iter().find(|(name, _)| *name == value);
                libraries = known.expect("hip or roc").1;
            }
            "select" => rules = Selection::new(&[value], &[]).expect("a rule"),
            _ => panic!("{key} is not a key of a target"),
        }
    }
    let mut options = Options::default();
    options.target = target;
    options.rules = rules;
    options.libraries = libraries;
    options.language = Some(language);
    options
}

/// A code block of a rule's page: its language, the words after it, and the code.
pub(crate) struct Block {
    pub(crate) language: Language,
    pub(crate) words: String,
    pub(crate) code: String,
}

impl Block {
    pub(crate) fn options(&self) -> Options {
        options(self.language, &self.words)
    }
}

/// The code blocks under a heading of a rule's page.
pub(crate) fn blocks(page: &str, heading: &str) -> Vec<Block> {
    let section = page
        .split_once(&format!("## {heading}\n"))
        .map(|(_, rest)| rest.split("\n## ").next().unwrap_or_default())
        .unwrap_or_default();
    section
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| {
            let (fence, code) = block.split_once('\n').expect("a code block");
            let (name, words) = fence.split_once(' ').unwrap_or((fence, ""));
            Some(Block {
                language: Language::of_name(name)?,
                words: words.trim().to_owned(),
                code: code.to_owned(),
            })
        })
        .collect()
}

/// The first block of each language under a heading, in order.
pub(crate) fn first_blocks(page: &str, heading: &str) -> Vec<Block> {
    let mut first: Vec<Block> = Vec::new();
    for block in blocks(page, heading) {
        if first.iter().all(|other| other.language != block.language) {
            first.push(block);
        }
    }
    first
}

/// The language of a fixture, by its file name.
pub(crate) fn language(path: &Path) -> Language {
    Language::of_path(&path.to_string_lossy())
        .unwrap_or_else(|| panic!("{}: unknown language", path.display()))
}

/// The files of every folder under `tests/fixtures`, without sidecars.
pub(crate) fn all_fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    files(&root)
        .iter()
        .flat_map(|folder| files(folder))
        .collect()
}

/// Small inputs that violated an invariant once, or are likely to.
pub(crate) fn regressions() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions"))
}

/// The files of one folder under `tests/fixtures`, without sidecars.
pub(crate) fn fixtures(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    files(&root.join(folder))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_none_or(|extension| extension != "expect")
        })
        .collect();
    files.sort();
    files
}
