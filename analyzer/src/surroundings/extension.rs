//! Whether a C++ file belongs to a PyTorch extension, whose names PyTorch's hipify renames when it is built.
//!
//! Headers of an extension rarely include PyTorch's, so the file itself does not tell: the `setup.py` above it does, or the
//! module that builds it on import.

use std::fs;
use std::path::Path;

use super::by_folder::ByFolder;

/// The file that tells.
pub(super) const SETUP: &str = "setup.py";

/// What was found so far, by folder.
#[derive(Debug, Default)]
pub(super) struct Extensions(ByFolder<Option<bool>>);

impl Extensions {
    /// True below Python code that builds extensions with PyTorch; nothing where no file says so.
    pub(super) fn of_file(&self, file: &Path) -> Option<bool> {
        // One that an editor has not written yet has a place all the same.
        let whole = fs::canonicalize(file).or_else(|_| std::path::absolute(file));
        self.of_folder(whole.ok()?.parent()?)
    }

    fn of_folder(&self, folder: &Path) -> Option<bool> {
        self.0.answer(folder, || {
            if builds_extensions(folder) {
                Some(true)
            } else if folder.join(".git").exists() {
                // The project ends here.
                None
            } else {
                folder.parent().and_then(|parent| self.of_folder(parent))
            }
        })
    }
}

/// A `setup.py` that builds extensions, or a module beside it that builds one when it is imported.
fn builds_extensions(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .any(|path| {
            fs::read_to_string(path)
                .is_ok_and(|code| code.contains("cpp_extension") || code.contains("CUDAExtension"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_file_above_decides_within_the_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for part in [
            "ours/csrc/deep",
            "ours/.git",
            "plain/.git",
            "inline/kernels",
        ] {
            fs::create_dir_all(path(part)).expect("a folder");
        }
        fs::write(path(SETUP), "CUDAExtension").expect("a file");
        fs::write(
            path("ours/setup.py"),
            "from torch.utils import cpp_extension",
        )
        .expect("a file");
        fs::write(path("inline/ext.py"), "torch.utils.cpp_extension.load()").expect("a file");
        for file in ["ours/csrc/deep/x.cuh", "plain/x.cu", "inline/kernels/x.cu"] {
            fs::write(path(file), "").expect("a file");
        }
        let extensions = Extensions::default();
        for _ in 0..2 {
            assert_eq!(
                extensions.of_file(&path("ours/csrc/deep/x.cuh")),
                Some(true)
            );
            assert_eq!(extensions.of_file(&path("inline/kernels/x.cu")), Some(true));
            assert_eq!(extensions.of_file(&path("plain/x.cu")), None);
            assert_eq!(extensions.of_file(&path("ours/new/new.cu")), Some(true));
        }
    }
}
