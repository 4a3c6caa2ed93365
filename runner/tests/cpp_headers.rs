//! PyTorch's C++ headers are precompiled while a server waits for jobs, and every job on the processor can read them.

mod support;

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};
use support::{Server, printed};

/// A job that reads the headers, and tries to change them.
const READS: &str = "
import os, pathlib
folder = pathlib.Path(os.environ['HIPWARD_CPP_HEADERS'])
print(sorted((file.name, file.read_text()) for file in folder.iterdir()))
for change in (lambda: (folder / 'prefix.h.gch').write_text('x'), lambda: (folder / 'new.h').touch(), folder.rmdir):
    try:
        change()
        print('CHANGED')
    except OSError:
        pass
";

/// The headers in the data folder, once their facts contain `text`.
fn await_headers(data: &Path, text: &str) -> Vec<(String, u32, u32)> {
    let folder = data.join("cpp-headers");
    let start = Instant::now();
    while !fs::read_to_string(folder.join("host.json")).is_ok_and(|facts| facts.contains(text)) {
        assert!(start.elapsed() < Duration::from_secs(240), "no headers");
        sleep(Duration::from_millis(100));
    }
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|file| {
            let found = file.metadata().expect("is there");
            let name = file.file_name().to_string_lossy().into_owned();
            (name, found.permissions().mode() & 0o777, found.uid())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn headers_are_precompiled_by_an_idle_server_and_readable_by_jobs() {
    // Files of a server before are passed to the module, and replaced by those that it makes.
    let server = Server::start_prepared(
        |data| {
            fs::create_dir(data.join("cpp-headers")).expect("a folder");
            fs::write(data.join("cpp-headers/old.h"), "old").expect("is written");
        },
        &[],
    );
    let data = server.data.path().to_owned();
    let own = nix::unistd::getuid().as_raw();
    let expected = ["host.json", "prefix.h.gch"].map(|name| (name.to_owned(), 0o644, own));
    assert_eq!(await_headers(&data, "after ['old.h']"), expected);
    // The worker that was warm before they were there.
    let log = printed(&server.run(READS));
    assert!(log.contains("('prefix.h.gch', 'precompiled')"), "{log}");
    // Without rules for files, a job of the same user can write what its user can write.
    assert!(!log.contains("CHANGED") || !server.fences_files(), "{log}");
}
