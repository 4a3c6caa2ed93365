//! Keys of the checkpoints that Python modules save together with the parsed arguments of their command line, as
//! `{"model": …, "args": args}`. `torch.load` in another module of the project refuses such a checkpoint.

use super::{FileSource, MAX_NEIGHBOURS, join};
use hipward_analyzer_python::rules::releases::weights_only::keys_beside_arguments;
use hipward_analyzer_python::syntax::{LastParse, parse};

/// Words in the names of modules that save checkpoints. Not every module is read.
const MODULES: [&str; 8] = [
    "train",
    "main",
    "engine",
    "checkpoint",
    "save",
    "run",
    "util",
    "misc",
];

/// Levels of folders below the root of a project in which modules are read.
const LEVELS: usize = 4;

/// The keys in the modules of a project, each once.
pub(super) fn keys(files: &dyn FileSource, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    add_below(files, root, LEVELS, &mut found);
    found
}

fn add_below(files: &dyn FileSource, folder: &str, levels: usize, found: &mut Vec<String>) {
    let names = files.names(folder);
    if names.len() > MAX_NEIGHBOURS {
        return;
    }
    for name in names.iter() {
        let path = join(folder, name);
        if let Some(stem) = name.strip_suffix(".py") {
            let may_save = MODULES.iter().any(|word| stem.contains(word));
            let text = may_save.then(|| files.text(&path)).flatten();
            for key in text.map_or_else(Vec::new, |text| keys_in(&text)) {
                if !found.contains(&key) {
                    found.push(key);
                }
            }
        } else if levels > 0 && !name.contains('.') {
            add_below(files, &path, levels - 1, found);
        }
    }
}

fn keys_in(text: &str) -> Vec<String> {
    let has_pair = ["\": args", "': args", "\": self.args", "': self.args"]
        .iter()
        .any(|pair| text.contains(pair));
    if !has_pair || !text.contains("save") {
        return Vec::new();
    }
    parse(text, &mut LastParse::default()).map_or_else(Vec::new, |tree| {
        let keys = keys_beside_arguments(&tree);
        keys.into_iter().map(str::to_owned).collect()
    })
}
