//! Python modules whose neighbours handle that they cannot be imported: `try: from .flash_attention import FlashAttention`.

use super::{FileSource, MAX_NEIGHBOURS, join};

/// Parts of the names of modules that need a library of NVIDIA. Not every folder is searched.
const NAMES: [&str; 9] = [
    "flash",
    "attn",
    "attention",
    "apex",
    "xformers",
    "fused",
    "kernel",
    "triton",
    "trt",
];

/// Whether a file may be one of them, by its name; the name of the module.
pub(super) fn module_of(path: &str) -> Option<&str> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let module = file.strip_suffix(".py")?;
    NAMES
        .iter()
        .any(|name| module.contains(name))
        .then_some(module)
}

/// Those of a folder's modules that the other files of the folder import, each time in a `try`, separated by spaces.
pub(super) fn find(files: &dyn FileSource, folder: &str) -> String {
    let names = files.names(folder);
    // Each with whether it is imported in a `try`, and otherwise.
    let mut modules: Vec<(&str, bool, bool)> = names
        .iter()
        .filter_map(|name| Some((module_of(name)?, false, false)))
        .collect();
    if modules.is_empty() || names.len() > MAX_NEIGHBOURS {
        return String::new();
    }
    for name in names.iter().filter(|name| name.ends_with(".py")) {
        let Some(text) = files.text(&join(folder, name)) else {
            continue;
        };
        for (module, in_try) in imports(&text) {
            for known in modules.iter_mut().filter(|known| known.0 == module) {
                known.1 |= in_try;
                known.2 |= !in_try;
            }
        }
    }
    let is_optional = |(_, in_try, otherwise): &&(&str, bool, bool)| *in_try && !*otherwise;
    let found: Vec<&str> = modules.iter().filter(is_optional).map(|it| it.0).collect();
    found.join(" ")
}

/// The last part of each module that a source imports by `from`, and whether the statement is in a `try` at the top level.
fn imports(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut in_try = false;
    text.lines().filter_map(move |line| {
        let statement = line.trim_start();
        if statement.len() == line.len() && !statement.is_empty() && !statement.starts_with('#') {
            in_try = statement.starts_with("try:");
        }
        let module = statement.strip_prefix("from ")?.split_whitespace().next()?;
        let is_indented = statement.len() < line.len();
        Some((module.rsplit('.').next()?, is_indented && in_try))
    })
}
