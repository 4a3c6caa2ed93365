//! The programs that Python starts: the emulator, which is this binary with the subcommand `emulate-launch`, and this
//! binary itself for `hipward run`.

use crate::shared_files;
use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The environment variable with the path of the emulator, and the path: the user's choice, or this binary.
pub(crate) fn emulator() -> Option<(&'static str, PathBuf)> {
    let chosen = env::var_os("HIPWARD_EMULATE").map(PathBuf::from);
    let path = chosen.or_else(|| env::current_exe().ok().filter(|path| path.exists()))?;
    Some(("HIPWARD_EMULATE", path))
}

/// A program that workers start: the environment variable that names it, and its path.
pub(crate) type Program = (&'static str, PathBuf);

/// The programs that workers start besides Python. One that cannot be started is absent.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// The emulator, for exercises.
    pub(crate) emulator: Option<Program>,
    /// This binary, for `hipward run`.
    pub(crate) own: Option<Program>,
}

impl Programs {
    /// The programs where they are.
    pub(crate) fn find() -> Self {
        let own = env::current_exe().ok().filter(|path| path.exists());
        Programs {
            emulator: emulator(),
            own: own.map(|path| ("HIPWARD_PROGRAM", path)),
        }
    }

    /// The programs for workers with users of their own: a link or a copy in `data` of each that other users cannot start
    /// where it is.
    pub(crate) fn for_others(data: &Path) -> Self {
        let Programs { emulator, own } = Self::find();
        let reachable = |program: Option<Program>, folder: &str| {
            let (variable, path) = program?;
            if can_be_started_by_all(&path) {
                return Some((variable, path));
            }
            match link(&path, &data.join(folder)) {
                Ok(link) => Some((variable, link)),
                Err(error) => {
                    tracing::warn!("workers cannot start {}: {error}", path.display());
                    None
                }
            }
        };
        Programs {
            emulator: reachable(emulator, "emulator"),
            own: reachable(own, "program"),
        }
    }
}

fn can_be_started_by_all(program: &Path) -> bool {
    program
        .ancestors()
        .all(|path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 != 0))
}

/// A hard link to the program, or a copy if it is on another file system, that all users can start.
fn link(program: &Path, folder: &Path) -> io::Result<PathBuf> {
    shared_files::create_folder(folder)?;
    let link = folder.join("hipward");
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mode = fs::metadata(program)?.permissions().mode();
    if mode & 0o001 == 0 || fs::hard_link(program, &link).is_err() {
        shared_files::copy(program, &link, 0o755)?;
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn program_in_a_closed_folder_is_linked_where_all_can_start_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("is ours");
        let program = folder.path().join("program");
        fs::write(&program, "one").expect("is written");
        for (mode, expected) in [(0o755, "one"), (0o700, "one")] {
            fs::set_permissions(&program, Permissions::from_mode(mode)).expect("is ours");
            assert!(!can_be_started_by_all(&program));
            let link = link(&program, &folder.path().join("emulator")).expect("is linked");
            assert_eq!(fs::read_to_string(&link).expect("is there"), expected);
            let found = fs::metadata(&link).expect("is there").permissions().mode();
            assert_eq!(found & 0o777, 0o755);
        }
        let found = fs::metadata(&program).expect("is there").permissions();
        assert_eq!(found.mode() & 0o777, 0o700, "the program is not changed");
        assert!(can_be_started_by_all(Path::new("/bin/sh")));
    }
}
