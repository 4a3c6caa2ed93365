//! Access to the files of this machine for the project context.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hipward_analyzer::{FileSource, Options, ProjectContext};

use crate::file_state::FileState;
use crate::source_file;
use crate::text_encoding::decode;

/// Everything below `/`. Each folder is read once, since the context of every file asks for those around it.
#[derive(Debug, Default)]
pub(super) struct Disk {
    folders: Mutex<HashMap<String, Arc<Folder>>>,
    /// The other paths that were read, with their states before that.
    files: Mutex<HashMap<String, FileState>>,
}

/// A folder that was read.
#[derive(Debug, Default)]
struct Folder {
    /// The sorted names; `None` if this user may not list it.
    names: Option<Arc<Vec<String>>>,
    /// Its state before it was read; `None` if the folder above does not contain it.
    state: Option<FileState>,
    /// Whether results follow from its names, and not only from its existence.
    is_searched: AtomicBool,
}

impl Folder {
    fn lacks(&self, name: &str) -> bool {
        let names = self.names.as_ref();
        names.is_some_and(|names| names.binary_search_by(|it| (**it).cmp(name)).is_err())
    }
}

impl Disk {
    fn folder(&self, path: &str) -> Arc<Folder> {
        let folders = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let known = folders().get(path).cloned();
        if let Some(known) = known {
            return known;
        }
        // The folder above may be the user's, in which other programs write. Only whether it contains this one counts.
        let is_absent = split(path).is_some_and(|(above, name)| self.folder(above).lacks(name));
        let found = Arc::new(match is_absent {
            true => Folder {
                names: Some(Arc::default()),
                ..Folder::default()
            },
            false => Folder {
                state: Some(FileState::of(&place(path))),
                names: list(&place(path)),
                ..Folder::default()
            },
        });
        folders().insert(path.to_owned(), Arc::clone(&found));
        found
    }

    /// A folder whose names are searched; for one that is not there, also the nearest above it.
    fn searched(&self, path: &str) -> Arc<Folder> {
        let folder = self.folder(path);
        if !folder.is_searched.swap(true, Ordering::Relaxed)
            && folder.state.is_none()
            && let Some((above, _)) = split(path)
        {
            self.searched(above);
        }
        folder
    }

    /// The files and folders that were read, with their states before that.
    pub(super) fn reads(&self) -> HashMap<String, FileState> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let searched = folders
            .iter()
            .filter(|(_, folder)| folder.is_searched.load(Ordering::Relaxed))
            .filter_map(|(path, folder)| Some((path.clone(), folder.state?)));
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.iter().map(|(path, state)| (path.clone(), *state));
        searched.chain(files).collect()
    }

    fn store(&self, path: &str, state: impl FnOnce() -> FileState) {
        let files = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files().contains_key(path) {
            let state = state();
            files().entry(path.to_owned()).or_insert(state);
        }
    }
}

impl FileSource for Disk {
    fn names(&self, folder: &str) -> Arc<Vec<String>> {
        self.searched(folder).names.clone().unwrap_or_default()
    }

    fn exists(&self, path: &str) -> bool {
        if split(path).is_some_and(|(above, name)| self.searched(above).lacks(name)) {
            return false;
        }
        let exists = place(path).exists();
        if !exists {
            // A link, whose target may appear without a change of its folder.
            self.store(path, FileState::default);
        }
        exists
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.store(path, || FileState::of(&place(path)));
        let bytes = source_file::read_regular(&place(path)).ok()?;
        Some(Cow::Owned(decode(bytes, false).text))
    }
}

/// The folder above a path, and the name in it; `None` if the path does not end in a name.
fn split(path: &str) -> Option<(&str, &str)> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    (!matches!(name, "" | "." | "..")).then_some((above, name))
}

fn place(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

fn list(folder: &Path) -> Option<Arc<Vec<String>>> {
    let names = |entries: fs::ReadDir| -> io::Result<Vec<String>> {
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    };
    match fs::read_dir(folder).and_then(names) {
        Ok(mut names) => {
            names.sort_unstable();
            Some(Arc::new(names))
        }
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
            .then(Arc::default),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_the_names_in_their_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("include/mine")).expect("a folder");
        for file in ["setup.py", "a.cu", "include/mine/gpu.h"] {
            fs::write(root.join(file), "").expect("a file");
        }
        let root = root.to_str().expect("UTF-8").trim_start_matches('/');
        let disk = Disk::default();
        assert_eq!(*disk.names(root), ["a.cu", "include", "setup.py"]);
        for (path, is_there) in [
            ("", true),
            ("include/mine/gpu.h", true),
            ("include/../a.cu", true),
            ("./a.cu", true),
            ("include/other/gpu.h", false),
            ("a.cu/gpu.h", false),
            ("missing/../a.cu", false),
        ] {
            let path = [root, path].join("/");
            assert_eq!(disk.exists(&path), is_there, "{path}");
        }
        // Each folder is read once.
        fs::remove_file(place(root).join("setup.py")).expect("a file");
        assert_eq!(disk.names(root).len(), 3);
        // Of the folders above, none was read for its names.
        let reads = disk.reads();
        assert!(reads.keys().all(|path| path.starts_with(root)), "{reads:?}");
    }
}
