//! PyTorch's C++ headers, precompiled once for this host. `torch.compile` needs them on the processor, and each job would
//! precompile them for itself. A worker does it once, with the isolation of jobs, while the processor's loop waits for a job.

use super::{
    request_workers,
    runner::{Prepared, Runner},
};
use crate::{
    isolation::{self, Sandboxed},
    shared_files,
    shutdown::Shutdown,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    task::spawn_blocking,
    time::sleep,
};

/// The Python module of the worker.
pub(super) const MODULE: &str = "hipward_kernels.harness.cpp_headers";

/// The environment variable with the folder of the headers.
pub(super) const VARIABLE: &str = "HIPWARD_CPP_HEADERS";

/// The number of slots, which follow those of the request workers.
pub(super) const SLOTS: usize = 1;

/// The folder, in the data folder and in the worker's directory.
const FOLDER: &str = "cpp-headers";

/// The file that says which of the others are valid; written last.
const FACTS: &str = "host.json";

/// Time for which the processor's loop has to wait for a job before headers are precompiled. A server that runs for a moment
/// needs none.
pub(super) const IDLE: Duration = Duration::from_secs(60);

const TIMEOUT: Duration = Duration::from_secs(180);

/// The folder of the headers, which workers can read. It is created empty, because a sandbox permits only folders that exist.
pub(super) fn folder(data: &Path) -> io::Result<PathBuf> {
    let folder = data.join(FOLDER);
    shared_files::create_folder(&folder)?;
    Ok(folder)
}

/// Precompiles the headers, unless those in the folder are for this host.
pub(super) async fn precompile(runner: &Runner, shutdown: &mut Shutdown) -> io::Result<()> {
    let slot = runner.devices().len() + request_workers::SLOTS;
    let Prepared {
        spec, directory, ..
    } = runner.spec(slot, false, MODULE)?;
    let mut process = isolation::spawn(spec).await?;
    let made = directory.path().join(FOLDER);
    let kept = folder(&runner.settings.data)?;
    let result = tokio::select! {
        ready = is_ready(&mut process) => match ready {
            // The worker waits, because its directory is removed when it ends.
            Ok(()) => spawn_blocking(move || publish(&made, &kept)).await.map_err(io::Error::other),
            Err(error) => Err(error),
        },
        () = sleep(TIMEOUT) => Err(io::Error::other("the compiler took too long")),
        () = shutdown.requested() => Ok(Ok(())),
    };
    process.kill().await;
    process.wait().await?;
    result?
}

/// Waits until the worker has written its files.
async fn is_ready(process: &mut Sandboxed) -> io::Result<()> {
    let events = process.take_pipes()?.without_output();
    let line = BufReader::new(events).lines().next_line().await?;
    match line.as_deref() {
        Some("ready") => Ok(()),
        failed => Err(io::Error::other(
            failed.unwrap_or("its worker ended").to_owned(),
        )),
    }
}

/// Replaces the files in `kept` by copies of those in `made`, if the worker made any. Copies belong to the server, while
/// the worker's files belong to its user.
fn publish(made: &Path, kept: &Path) -> io::Result<()> {
    let mut files = match fs::read_dir(made) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?.collect::<io::Result<Vec<_>>>()?,
    };
    for old in fs::read_dir(kept)? {
        fs::remove_file(old?.path())?;
    }
    files.sort_by_key(|file| file.file_name() == FACTS);
    for file in files {
        let copy = kept.join(file.file_name());
        shared_files::copy(&file.path(), &copy, 0o644)?;
    }
    Ok(())
}
