//! The files of this machine, for what they say of each other.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use hipward_analyzer::{FileSource, Options, ProjectContext};

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
        fs::read_to_string(place(path)).ok().map(Cow::Owned)
    }
}

fn place(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

/// Tells the options for a file what stands around it.
pub(super) fn fill_options(
    project_context: &ProjectContext<Disk>,
    file: &Path,
    options: &mut Options,
) {
    // One that an editor has not written yet has a place all the same.
    let Ok(whole) = fs::canonicalize(file).or_else(|_| std::path::absolute(file)) else {
        return;
    };
    // Of a name that is no text nothing is known.
    if let Some(path) = whole.to_str() {
        project_context.fill_options(path.trim_start_matches('/'), options);
    }
}
