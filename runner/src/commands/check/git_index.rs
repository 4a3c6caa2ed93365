//! Reads the files that git tracks from a repository's index, because `.gitignore` does not apply to them. Git itself is not
//! run, because the configuration of a repository can name programs that it starts.
//!
//! The index has a header and the entries in the order of their names, in one of the versions 2 to 4; see git's documentation of
//! the format. The extensions after the entries are not read.

use std::fs;
use std::path::{Path, PathBuf};

/// The length of an entry before its flags: times, device, mode, owner, size and SHA-1.
const FLAGS: usize = 60;

/// The regular files below `folder` that its repository tracks, as paths that start with `folder`. Empty without a repository,
/// and if the index cannot be read.
pub(super) fn tracked(folder: &Path) -> Vec<PathBuf> {
    let below = || {
        let absolute = fs::canonicalize(folder).ok()?;
        let root = absolute
            .ancestors()
            .find(|folder| folder.join(".git").exists())?;
        let index = fs::read(git_folder(root)?.join("index")).ok()?;
        let prefix = absolute.strip_prefix(root).ok()?;
        let names = names(&index)?;
        let below = names.iter().filter_map(|name| {
            let name = Path::new(std::str::from_utf8(name).ok()?);
            Some(folder.join(name.strip_prefix(prefix).ok()?))
        });
        Some(below.collect())
    };
    below().unwrap_or_default()
}

/// `.git`, or the folder that the file `.git` of a worktree or a submodule names.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(git).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The names of the regular files in an index; `None` if it has another format, such as SHA-256.
fn names(index: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let version = number(4)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut names = Vec::new();
    let mut name = Vec::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let start = at;
        let mode = number(start + 24)?;
        let flags = number(start + FLAGS - 2)? & 0xffff;
        let is_extended = flags & 0x4000 != 0;
        at += FLAGS + 2 + if is_extended { 2 } else { 0 };
        if version == 4 {
            // The rest of the previous name, after a number of removed bytes.
            let removed = variable_number(index, &mut at)?;
            name.truncate(name.len().checked_sub(removed)?);
        } else {
            name.clear();
        }
        let rest = index.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&rest[..end]);
        let length = (flags & 0xfff) as usize;
        if length != name.len().min(0xfff) {
            return None;
        }
        at += end + 1;
        if version != 4 {
            at = start + (at - start).next_multiple_of(8);
        }
        if mode & 0o170_000 == 0o100_000 {
            names.push(name.clone());
        }
    }
    Some(names)
}

/// A number of git's pack format: 7 bits a byte, the highest first, and one is added at each continuation.
fn variable_number(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value
            .checked_mul(128)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .current_dir(folder)
            .args(arguments)
            .status()
            .expect("git");
        assert!(status.success(), "{arguments:?}");
    }

    #[test]
    fn each_version_of_the_index_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        git(folder.path(), &["init", "-q"]);
        fs::create_dir_all(path("sub/deeper")).expect("a folder");
        let files = ["a.py", "sub/b.py", "sub/bb.py", "sub/deeper/c.yml"];
        for name in files {
            fs::write(path(name), name).expect("a file");
        }
        git(folder.path(), &["add", "."]);
        // Version 3 has an extended flag.
        git(folder.path(), &["update-index", "--skip-worktree", "a.py"]);
        for version in ["3", "4"] {
            git(folder.path(), &["update-index", "--index-version", version]);
            let index = fs::read(path(".git/index")).expect("an index");
            assert_eq!(index[7], version.as_bytes()[0] - b'0');
            assert_eq!(tracked(folder.path()), files.map(path));
        }
        git(
            folder.path(),
            &["update-index", "--no-skip-worktree", "a.py"],
        );
        git(folder.path(), &["update-index", "--index-version", "2"]);
        assert_eq!(tracked(folder.path()), files.map(path));
        assert_eq!(tracked(&path("sub/deeper")), [path("sub/deeper/c.yml")]);
    }

    #[test]
    fn damaged_index_has_no_files() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(tracked(folder.path()), [""; 0].map(PathBuf::from));
        git(folder.path(), &["init", "-q"]);
        fs::write(folder.path().join("a.py"), "").expect("a file");
        git(folder.path(), &["add", "."]);
        let path = folder.path().join(".git/index");
        let index = fs::read(&path).expect("an index");
        // The only name ends at 79.
        for length in 0..79 {
            fs::write(&path, &index[..length]).expect("an index");
            assert_eq!(tracked(folder.path()).len(), 0, "{length}");
        }
    }
}
