//! Switches that a C++ source asks for and that nothing in its project sets: `#ifdef ACME_USE_FP8` in a header that was copied from
//! another project.

use super::{FileSource, join};
use hipward_analyzer_core::words::listed;

/// The switches that the build files of a folder name, in any way.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Each with a space after it.
    words: String,
    /// A build file cannot be read, so it may name any switch.
    is_unknown: bool,
}

impl Named {
    /// Whether the build may set a switch: `-DACME_USE_FP8`, `ACME_USE_FP8=1`, `option(ACME_USE_FP8 …)`.
    pub(super) fn may_set(&self, switch: &str) -> bool {
        self.is_unknown || listed(&self.words, switch)
    }
}

/// The switches that the build files in a folder, and in its folder `cmake`, name.
pub(super) fn named(files: &dyn FileSource, folder: &str) -> Named {
    let mut named = Named::default();
    for here in [folder, &join(folder, "cmake")] {
        for name in files.names(here).iter().filter(|name| is_build_file(name)) {
            match files.text(&join(here, name)) {
                Some(text) => add(&mut named.words, words(&text)),
                None => named.is_unknown = true,
            }
        }
    }
    named
}

fn is_build_file(name: &str) -> bool {
    const ENDS: [&str; 7] = [".py", ".cmake", ".mk", ".sh", ".toml", ".bzl", ".bazel"];
    ENDS.iter().any(|end| name.ends_with(end))
        || ["CMakeLists", "Makefile", "makefile", "BUILD", "meson"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// The switches that a C++ source asks for: `#ifdef ACME_USE_FP8`, `#if defined(ACME_USE_FP8)`. Each with a space after it.
pub(super) fn asked(text: &str) -> String {
    let conditions = directives(text).filter_map(|line| {
        let rest = line.strip_prefix("ifdef").or_else(|| {
            let rest = line.strip_prefix("if")?.trim_start();
            rest.strip_prefix("defined")
        })?;
        words(rest).next()
    });
    let mut found = String::new();
    add(&mut found, conditions);
    found
}

/// The switches that a C++ source defines. Each with a space after it.
pub(super) fn defined(text: &str) -> String {
    let names = directives(text).filter_map(|line| {
        let rest = line.strip_prefix("define")?;
        let name = rest.split_whitespace().next()?;
        is_switch(name).then_some(name)
    });
    let mut found = String::new();
    add(&mut found, names);
    found
}

/// The text after the `#` of each preprocessor line.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| Some(line.trim_start().strip_prefix('#')?.trim_start()))
}

/// Adds words to a list, each once.
fn add<'t>(list: &mut String, words: impl Iterator<Item = &'t str>) {
    for word in words {
        if !listed(list, word) {
            list.push_str(word);
            list.push(' ');
        }
    }
}

/// The switches in a text; of `-DACME_USE_FP8`, the part after `-D`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && c != '-' && !c.is_ascii_alphanumeric())
        .map(|word| word.strip_prefix("-D").unwrap_or(word))
        .filter(|word| is_switch(word))
}

/// `ACME_USE_FP8`, `ENABLE_BF16`: a project's own switch by its name. PyTorch's and NVIDIA's headers define others.
fn is_switch(name: &str) -> bool {
    const OTHERS: [&str; 7] = ["C10_", "AT_", "TORCH_", "CUDA_", "THRUST_", "CUB_", "NCCL_"];
    (name.contains("_USE_") || name.contains("_ENABLE_") || name.starts_with("ENABLE_"))
        && !name.starts_with('_')
        && !OTHERS.iter().any(|start| name.starts_with(start))
}
