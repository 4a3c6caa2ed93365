//! Python modules whose neighbours handle that they cannot be imported: `try: from .flash_attention import FlashAttention`.

use super::{FileSource, MAX_NEIGHBOURS, join};
use hipward_analyzer_core::words::listed;

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
    let modules: Vec<&str> = names.iter().filter_map(|name| module_of(name)).collect();
    if modules.is_empty() || names.len() > MAX_NEIGHBOURS {
        return String::new();
    }
    let (mut guarded, mut unguarded) = (String::new(), String::new());
    for name in names.iter().filter(|name| name.ends_with(".py")) {
        let Some(text) = files.text(&join(folder, name)) else {
            continue;
        };
        for (module, is_guarded) in imports(&text) {
            let list = if is_guarded {
                &mut guarded
            } else {
                &mut unguarded
            };
            if modules.contains(&module) && !listed(list, module) {
                list.push_str(module);
                list.push(' ');
            }
        }
    }
    let is_optional = |module: &&str| !listed(&unguarded, module);
    let found: Vec<&str> = guarded.split_whitespace().filter(is_optional).collect();
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
