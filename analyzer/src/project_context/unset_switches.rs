//! Switches that a C++ source asks for and that nothing in its project sets: `#ifdef ACME_USE_FP8` in a header that was copied from
//! another project.

use super::{FileSource, join};
use std::collections::BTreeSet;

/// The switches that the build files of a folder name, in any way.
#[derive(Debug, Default)]
pub(super) struct Named {
    words: BTreeSet<String>,
    /// A build file cannot be read, so it may name any switch.
    is_unknown: bool,
}

impl Named {
    /// Whether the build may set a switch: `-DACME_USE_FP8`, `ACME_USE_FP8=1`, `option(ACME_USE_FP8 …)`.
    pub(super) fn may_set(&self, switch: &str) -> bool {
        self.is_unknown || self.words.contains(switch)
    }
}

/// The switches that the build files in a folder, and in its folder `cmake`, name.
pub(super) fn named(files: &dyn FileSource, folder: &str) -> Named {
    let mut named = Named::default();
    for here in [folder.to_owned(), join(folder, "cmake")] {
        for name in files.names(&here).iter().filter(|name| is_build_file(name)) {
            let Some(text) = files.text(&join(&here, name)) else {
                named.is_unknown = true;
                continue;
            };
            for word in words(&text) {
                named.words.insert(word.to_owned());
                // `-DACME_USE_FP8`
                named
                    .words
                    .extend(word.strip_prefix('D').map(str::to_owned));
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
    listed_once(conditions)
}

/// The switches that a C++ source defines. Each with a space after it.
pub(super) fn defined(text: &str) -> String {
    let names = directives(text).filter_map(|line| {
        let rest = line.strip_prefix("define")?;
        let name = rest.split_whitespace().next()?;
        is_switch(name).then_some(name)
    });
    listed_once(names)
}

/// The text after the `#` of each preprocessor line.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| Some(line.trim_start().strip_prefix('#')?.trim_start()))
}

fn listed_once<'t>(names: impl Iterator<Item = &'t str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    names.iter().flat_map(|name| [*name, " "]).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        .filter(|word| is_switch(word))
}

/// `ACME_USE_FP8`, `ENABLE_BF16`: a project's own switch by its name. PyTorch's and NVIDIA's headers define others.
fn is_switch(name: &str) -> bool {
    const OTHERS: [&str; 7] = ["C10_", "AT_", "TORCH_", "CUDA_", "THRUST_", "CUB_", "NCCL_"];
    (name.contains("_USE_") || name.contains("_ENABLE_") || name.starts_with("ENABLE_"))
        && !name.starts_with('_')
        && !OTHERS.iter().any(|start| name.starts_with(start))
}
