//! Whether the Python modules around a requirements file import PyTorch. Its pins are for the same Python then, even if the
//! file does not name PyTorch.

use super::{FileSource, MAX_NEIGHBOURS, join};

/// Searches the modules in a folder and in so many levels of folders below it.
pub(super) fn below(files: &dyn FileSource, folder: &str, levels: usize) -> bool {
    let names = files.names(folder);
    if names.len() > MAX_NEIGHBOURS {
        return false;
    }
    let imports = |name: &String| {
        name.ends_with(".py")
            && files
                .text(&join(folder, name))
                .is_some_and(|text| text.contains("import torch") || text.contains("from torch"))
    };
    names.iter().any(imports)
        || levels > 0
            && names
                .iter()
                .filter(|name| !name.contains('.'))
                .any(|name| below(files, &join(folder, name), levels - 1))
}
