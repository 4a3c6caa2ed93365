//! What the test files share: targets written as `python=3.10 arch=gfx950`, and Markdown's Python blocks.

#![allow(dead_code, reason = "each test file uses a part")]

use hipward_analyzer::{Arch, Options, Target, Version};

/// Options for a target written as `python=3.10 torch=2.8 rocm=6.4 arch=gfx90a`; the rest is the default.
pub(crate) fn options(words: &str) -> Options {
    let mut target = Target::default();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("key=value");
        let version = || Version::try_from(value.to_owned()).expect("a version");
        match key {
            "python" => target.python = version(),
            "torch" => target.torch = version(),
            "rocm" => target.rocm = version(),
            "arch" => {
                target.arch = Arch::ALL
                    .into_iter()
                    .find(|arch| arch.name() == value)
                    .expect("an architecture");
            }
            _ => panic!("{key} is no part of a target"),
        }
    }
    Options {
        target,
        ..Options::default()
    }
}

/// The Python blocks under a heading of a rule's page: the words behind `python`, and the code.
pub(crate) fn python_blocks(page: &str, heading: &str) -> Vec<(String, String)> {
    let section = page
        .split_once(&format!("## {heading}\n"))
        .map(|(_, rest)| rest.split("\n## ").next().unwrap_or_default())
        .unwrap_or_default();
    section
        .split("```python")
        .skip(1)
        .map(|block| {
            let (words, code) = block.split_once('\n').expect("a code block");
            let code = code.split("```").next().expect("an end of the block");
            (words.trim().to_owned(), code.to_owned())
        })
        .collect()
}
