//! The measuring package, embedded in this binary and written to a folder where Python can import it.

use data_encoding::HEXLOWER;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::{
    borrow::Cow,
    collections::HashMap,
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../kernels/hipward_kernels"]
#[exclude = "*__pycache__*"]
struct Package;

/// The folder of the package itself.
const NAME: &str = "hipward_kernels";

/// The package could not be written out.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the Python package to {}: {source}; choose a writable folder with --data", path.display())]
pub(crate) struct PackageError {
    path: PathBuf,
    source: io::Error,
}

/// Writes the package below `data`, unless this version is there unchanged. Returns the folder that
/// contains `hipward_kernels/`.
pub(crate) fn unpack(data: &Path) -> Result<PathBuf, PackageError> {
    let files: Vec<_> = Package::iter()
        .filter_map(|path| Some((Package::get(&path)?.data, path)))
        .collect();
    let mut digest = Sha256::new();
    for (bytes, path) in &files {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    }
    let version = HEXLOWER.encode(&digest.finalize()[..8]);
    let folder = data.join("python").join(version);
    let failed = |source| PackageError {
        path: folder.clone(),
        source,
    };
    if is_whole(&folder, &files) {
        return Ok(folder);
    }
    // Written to a temporary folder and renamed, so that an incomplete package is never imported.
    let parent = data.join("python");
    let draft = parent.join(".draft");
    for old in [&draft, &folder] {
        match fs::remove_dir_all(old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    for (bytes, path) in &files {
        let file = draft.join(NAME).join(path.as_ref());
        fs::create_dir_all(file.parent().unwrap_or(&draft)).map_err(failed)?;
        fs::write(&file, bytes).map_err(failed)?;
    }
    open_to_read(&parent).map_err(failed)?;
    fs::rename(&draft, &folder).map_err(failed)?;
    Ok(folder)
}

/// Whether the folder contains exactly these files, unchanged. A changed file would run as a part of the harness.
fn is_whole(folder: &Path, files: &[(Cow<'static, [u8]>, Cow<'static, str>)]) -> bool {
    let expected: HashMap<PathBuf, &[u8]> = files
        .iter()
        .map(|(bytes, path)| (folder.join(NAME).join(path.as_ref()), bytes.as_ref()))
        .collect();
    let mut found = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries {
            let Some((path, kind)) = entry
                .ok()
                .and_then(|e| Some((e.path(), e.file_type().ok()?)))
            else {
                return false;
            };
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let is_ours = kind.is_file()
                && expected
                    .get(&path)
                    .is_some_and(|bytes| fs::read(&path).is_ok_and(|found| found == *bytes));
            if !is_ours {
                return false;
            }
            found += 1;
        }
    }
    found == expected.len()
}

/// Makes files readable for all users, because jobs may run as other users than the server.
fn open_to_read(top: &Path) -> io::Result<()> {
    fs::set_permissions(top, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(top)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_to_read(&entry.path())?;
        } else {
            fs::set_permissions(entry.path(), Permissions::from_mode(0o644))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_package_is_written_again() {
        let data = tempfile::tempdir().expect("a folder");
        let package = unpack(data.path()).expect("is written").join(NAME);
        let harness = package.join("__init__.py");
        let before = fs::read(&harness).expect("is there");
        let changes: [fn(&Path); 4] = [
            |package| fs::write(package.join("__init__.py"), "import evil").expect("is changed"),
            |package| fs::write(package.join("torch.py"), "").expect("is added"),
            |package| fs::remove_file(package.join("__init__.py")).expect("is removed"),
            |package| {
                fs::remove_file(package.join("__init__.py")).expect("is removed");
                std::os::unix::fs::symlink("/dev/null", package.join("__init__.py"))
                    .expect("a link");
            },
        ];
        for change in changes {
            change(&package);
            unpack(data.path()).expect("is written");
            assert_eq!(fs::read(&harness).expect("is there"), before);
            assert!(!package.join("torch.py").exists());
        }
    }

    #[test]
    fn unchanged_package_is_not_written_again() {
        let data = tempfile::tempdir().expect("a folder");
        let package = unpack(data.path()).expect("is written");
        let written = || fs::metadata(&package).expect("is there").modified().ok();
        let before = written();
        unpack(data.path()).expect("is there");
        assert_eq!(written(), before);
    }
}
