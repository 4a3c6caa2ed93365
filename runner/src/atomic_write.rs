//! Atomic replacement of a file's content.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file's content atomically: readers and a crash see either the old or the new content.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // Follows a link, so that it stays a link.
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    // Renaming a new file into its place would ignore this permission.
    if metadata.permissions().readonly() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is read-only",
        ));
    }
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
        file.write_all(content)?;
        file.set_permissions(metadata.permissions())?;
        if keep_owner(&file, &metadata).is_err() {
            // Writing to the old file keeps its owner.
            fs::remove_file(&temporary)?;
            return fs::write(&path, content);
        }
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().inspect_err(|_| {
        // Removes the incomplete file; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
    })
}

/// Sets the owner of the new file to that of the old one.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn replacing_keeps_the_mode_and_the_link_and_leaves_nothing_else() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("x.py"), folder.path().join("link.py"));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("a mode");
        symlink(&file, &link).expect("a link");
        replace(&link, b"new").expect("a replacement");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "new");
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&file).expect("the file").permissions().mode() & 0o777,
            0o750
        );
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.py");
        fs::write(&file, "old").expect("a file");
        let mut permissions = fs::metadata(&file).expect("the file").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).expect("a mode");
        let error = replace(&file, b"new").expect_err("refused");
        assert_eq!(error.to_string(), "it is read-only");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }
}
