//! Which files `hipward check` reads, and how it writes them back. Nothing about rules.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// The files that `paths` stand for, in a stable order: a file as it is given, a folder's .py files.
pub(super) fn python_files(paths: &[PathBuf], complain: &impl Fn(String)) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == super::STDIN || path.is_file() {
            files.push(path.clone());
            continue;
        }
        let walk = WalkBuilder::new(path).sort_by_file_path(Path::cmp).build();
        for entry in walk {
            match entry {
                Ok(entry)
                    if entry.file_type().is_some_and(|kind| kind.is_file())
                        && is_python(entry.path()) =>
                {
                    files.push(entry.into_path());
                }
                Ok(_) => {}
                Err(error) => complain(error.to_string()),
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

fn is_python(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "py" || extension == "pyi")
}

/// A path as reports and patches show it: without a leading `./`, with `/` between its parts.
pub(super) fn shown(path: &Path) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// Replaces a file's text in one step: a reader sees the old text or the new one, and a crash leaves one of them.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed, so that it stays a link.
    let path = fs::canonicalize(path)?;
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file"))?;
    let mut temporary = path.clone();
    temporary.set_file_name(format!(
        ".{}.hipward-{}",
        name.to_string_lossy(),
        std::process::id()
    ));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().inspect_err(|_| {
        // What is left of a failed write; the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    })
}
