//! Access to the files of this machine for the project context.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use hipward_analyzer::{FileSource, Options, ProjectContext};

use crate::source_file;
use crate::text_encoding::decode;

/// Everything below `/`.
#[derive(Debug, Default)]
pub(super) struct Disk;

impl FileSource for Disk {
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(place(folder)).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    fn exists(&self, path: &str) -> bool {
        place(path).exists()
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        let bytes = source_file::read_regular(&place(path)).ok()?;
        Some(Cow::Owned(decode(bytes, false).text))
    }
}

fn place(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

/// Completes the options for a file from the files around it.
pub(super) fn fill_options(
    project_context: &ProjectContext<Disk>,
    file: &Path,
    options: &mut Options,
) {
    // A file that an editor has not written yet has no canonical path.
    let Ok(whole) = fs::canonicalize(file).or_else(|_| std::path::absolute(file)) else {
        return;
    };
    // Paths that are not UTF-8 have no project context.
    if let Some(path) = whole.to_str() {
        project_context.fill_options(path.trim_start_matches('/'), options);
    }
}
