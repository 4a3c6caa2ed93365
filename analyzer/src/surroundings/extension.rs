//! Whether C++ below a folder belongs to a PyTorch extension, whose names PyTorch's hipify renames when it is built.
//!
//! Headers of an extension rarely include PyTorch's, so the file itself does not tell: the `setup.py` above it does, or the
//! module that builds it on import.

use super::{Files, join};

/// A `setup.py` that builds extensions, or a module beside it that builds one when it is imported.
pub(super) fn is_built_in(files: &dyn Files, folder: &str) -> bool {
    files
        .names(folder)
        .iter()
        .filter(|name| name.ends_with(".py"))
        .filter_map(|name| files.text(&join(folder, name)))
        .any(|code| code.contains("cpp_extension") || code.contains("CUDAExtension"))
}
