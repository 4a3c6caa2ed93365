//! The second stage of a worker in namespaces (`hipward sandbox-stage`, started by bubblewrap): applies the restrictions that do not
//! permit mounts, and becomes the worker.

use super::{
    bubblewrap::{STAGE_FD, STDERR_FD},
    pre_exec::Restrictions,
    sandbox_spec::SandboxSpec,
    syscalls,
};
use nix::unistd::{dup2_stderr, setsid};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::unix::{net::UnixStream, process::CommandExt},
    process::{Command, ExitCode},
};

/// Becomes the worker. Returns only if that fails.
pub(crate) fn run_stage() -> ExitCode {
    let Ok(socket) = syscalls::take_inherited(STAGE_FD) else {
        eprintln!("hipward sandbox-stage: this command is started by `hipward serve`, not by hand");
        return ExitCode::FAILURE;
    };
    let mut socket = UnixStream::from(socket);
    let error = match start(&socket) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    // Fails if the supervisor has ended.
    let _ = socket.write_all(error.to_string().as_bytes());
    ExitCode::FAILURE
}

/// The socket closes when the worker's program is executed, which tells the supervisor that it runs.
fn start(socket: &UnixStream) -> io::Result<std::convert::Infallible> {
    dup2_stderr(syscalls::take_inherited(STDERR_FD)?)?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    let spec: SandboxSpec = serde_json::from_str(&line)?;
    let mut restrictions = Restrictions::build(&spec).map_err(io::Error::other)?;
    setsid()?;
    restrictions.apply_to_user()?;
    // A Landlock rule is attached to this folder, which the supervisor keeps open.
    syscalls::send_descriptor(socket, &File::open("/proc/self")?.into())?;
    restrictions.apply_to_files()?;
    restrictions.apply_to_calls()?;
    let error = worker_command(&spec).exec();
    let (program, folder) = (spec.program.display(), spec.directory.display());
    Err(io::Error::other(format!(
        "{program} cannot be started in {folder}: {error}"
    )))
}

/// The worker's program, with its arguments, environment and working directory.
pub(super) fn worker_command(spec: &SandboxSpec) -> Command {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.directory);
    command
}
