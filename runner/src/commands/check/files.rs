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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_its_python_files_and_a_file_for_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).expect("a folder");
        for name in ["b.py", "a.py", "sub/c.py", "notes.txt", "script"] {
            fs::write(path(name), "").expect("a file");
        }
        let silent = |message: String| panic!("{message}");
        let found = python_files(
            &[folder.path().to_owned(), path("script"), path("a.py")],
            &silent,
        );
        assert_eq!(
            found,
            [path("a.py"), path("b.py"), path("sub/c.py"), path("script")]
        );
        let complaints = std::cell::RefCell::new(Vec::new());
        python_files(&[path("missing")], &|message| {
            complaints.borrow_mut().push(message)
        });
        assert_eq!(complaints.borrow().len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn replacing_keeps_the_mode_and_the_link_and_leaves_nothing_else() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("x.py"), folder.path().join("link.py"));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("a mode");
        symlink(&file, &link).expect("a link");
        replace(&link, "new").expect("a replacement");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "new");
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&file).expect("the file").permissions().mode() & 0o777,
            0o750
        );
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
    }
}
