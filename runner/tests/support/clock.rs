//! The clock of a program, which a test can set without that of the machine.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    os::unix::fs::{FileExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The clock of one program and its child processes.
pub(crate) struct Clock {
    folder: TempDir,
    offset: File,
}

impl Clock {
    /// A clock with the machine's time. Needs a C compiler, which Rust needs too.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // PostgreSQL runs as another user.
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("is ours");
        };
        open(folder.path(), 0o755);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clock.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([folder.path().join("clock.so"), source])
            .status();
        assert!(compiled.expect("cc runs").success());
        let path = folder.path().join("offset");
        let offset = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        open(&path, 0o644);
        let clock = Clock {
            offset: offset.expect("is created"),
            folder,
        };
        clock.set(0);
        clock
    }

    /// Sets the clock this many seconds after the machine's.
    pub(crate) fn set(&self, seconds: i64) {
        let written = self.offset.write_all_at(&seconds.to_ne_bytes(), 0);
        written.expect("is written");
    }

    /// The environment of a program that uses this clock.
    pub(crate) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let file = |name| self.folder.path().join(name);
        vec![
            ("LD_PRELOAD", file("clock.so")),
            ("HIPWARD_TEST_CLOCK", file("offset")),
        ]
    }
}
