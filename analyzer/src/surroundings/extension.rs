//! Whether hipify renames the C++ below a folder when it is built: PyTorch's does in an extension, and some builds run the tool
//! themselves.
//!
//! Headers of an extension rarely include PyTorch's, so the file itself does not tell: the `setup.py` above it does, the
//! module that builds it on import, or the build's own files.

use super::{Files, join};

/// What builds: Python, CMake, make, a shell script, Rust's `build.rs`.
const BUILDS: &[&str] = &[
    ".py",
    "CMakeLists.txt",
    ".cmake",
    "Makefile",
    ".mk",
    ".sh",
    "build.rs",
];

/// A `setup.py` that builds extensions, a module beside it that builds one when it is imported, a build that runs hipify.
pub(super) fn is_built_in(files: &dyn Files, folder: &str) -> bool {
    files
        .names(folder)
        .iter()
        .filter(|name| BUILDS.iter().any(|ending| name.ends_with(ending)))
        .filter_map(|name| files.text(&join(folder, name)))
        .any(|code| {
            ["cpp_extension", "CUDAExtension", "hipify"]
                .iter()
                .any(|word| code.contains(word))
        })
}
