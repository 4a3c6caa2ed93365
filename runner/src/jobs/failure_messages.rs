//! The messages of failed jobs: what happened, and what to do about it.

use super::{Settings, protocol_state::Violation};
use crate::isolation::{ExitReason, Limit, MAX_FILES};
use hipward_protocol::{EventBody, Failure, FailureCode};

fn failed(code: FailureCode, message: impl Into<String>, help: impl Into<String>) -> EventBody {
    EventBody::Failed(Failure {
        code,
        message: message.into(),
        help: help.into(),
        traceback: None,
    })
}

/// The worker ended before its job was finished.
pub(super) fn ended_early(exit_reason: ExitReason, settings: &Settings) -> EventBody {
    match exit_reason {
        ExitReason::OverLimit(limit) => over_limit(limit, settings),
        ExitReason::Exited { code } => failed(
            FailureCode::Crashed,
            format!("The Python process exited with status {code}."),
            "Remove calls such as `sys.exit()` and `os._exit()` from the code, and look at its \
             output below.",
        ),
        ExitReason::Signalled { signal } => failed(
            FailureCode::Crashed,
            format!(
                "The Python process was killed by {}.",
                nix::sys::signal::Signal::try_from(signal)
                    .map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string())
            ),
            "A crash below Python, in a compiled operator for example. Run the code with \
             `python -X faulthandler` to see where; SIGKILL may mean that the host ran out of \
             memory.",
        ),
        ExitReason::Killed => lost("the worker was killed"),
    }
}

const NO_FILES: &str = "A benchmark needs no files: keep its data in memory.";

fn over_limit(limit: Limit, settings: &Settings) -> EventBody {
    match limit {
        Limit::WallClock => failed(
            FailureCode::Timeout,
            format!(
                "It ran longer than {} seconds and was stopped.",
                settings.wall_limit.as_secs_f64()
            ),
            "Look for an infinite loop, or make the inputs smaller; the operator of this \
             server can raise the limit with --wall-limit.",
        ),
        Limit::Memory => failed(
            FailureCode::MemoryLimit,
            format!(
                "It used more than {} of memory and was stopped.",
                bytes(settings.memory_bytes)
            ),
            "Make the inputs or the model smaller; the operator of this server can raise the limit \
             with --memory-limit.",
        ),
        Limit::Processes => failed(
            FailureCode::ProcessLimit,
            format!(
                "It started more than {} processes and was stopped.",
                Settings::MAX_PROCESSES
            ),
            "A benchmark needs no process but its own: look for `fork`, `subprocess` or \
             `multiprocessing` in the code.",
        ),
        Limit::Disk => failed(
            FailureCode::OutputLimit,
            format!(
                "It wrote more than {} of files and was stopped.",
                bytes(Settings::MAX_DISK_BYTES)
            ),
            NO_FILES,
        ),
        Limit::Files => failed(
            FailureCode::OutputLimit,
            format!("It created more than {MAX_FILES} files and folders and was stopped."),
            NO_FILES,
        ),
        Limit::UnreadableFolder => failed(
            FailureCode::OutputLimit,
            "It was stopped, because one of its folders cannot be read: its path is too long, or the code has removed \
             its permissions.",
            NO_FILES,
        ),
    }
}

/// The snippet printed too much.
pub(super) fn too_much_output(limit: u64) -> EventBody {
    failed(
        FailureCode::OutputLimit,
        format!("It printed more than {} and was stopped.", bytes(limit)),
        "Remove `print` calls from `forward`: they also cost more time than most operators.",
    )
}

/// The worker wrote text to the protocol's pipe that is not a line of the protocol.
pub(super) fn not_a_line(problem: &str) -> EventBody {
    failed(
        FailureCode::Internal,
        format!("The measuring process wrote a line that cannot be parsed: {problem}."),
        "If the code writes to file descriptor 3, remove that. Otherwise this is a bug in \
         Hipward; please report it with the code.",
    )
}

/// The worker wrote a line that violates the protocol.
pub(super) fn impossible_line(violation: &Violation) -> EventBody {
    match violation {
        Violation::InvalidLine(problem) => failed(
            FailureCode::Internal,
            format!("The measuring process violated its protocol: {problem}."),
            "If the code writes lines of the protocol itself, remove that. Otherwise this is a bug in Hipward; please \
             report it with the code.",
        ),
        Violation::Clock { reported, passed } => failed(
            FailureCode::Tampered,
            format!(
                "The measuring process reported calls of {reported:.2} seconds in total, but only {passed:.2} seconds had \
                 passed, so its times are not valid."
            ),
            "Do not change Python's clocks or the harness.",
        ),
    }
}

/// The time limit was reached while variants were timed. What was measured until then is in the event log.
pub(super) fn time_limit_while_timed(settings: &Settings) -> EventBody {
    failed(
        FailureCode::Timeout,
        format!(
            "It was stopped at its time limit of {} seconds. The result is based on what was measured until then.",
            settings.wall_limit.as_secs_f64()
        ),
        "Choose fewer variants or smaller inputs; the operator of this server can raise the limit with --wall-limit.",
    )
}

/// The event log could not be written.
pub(super) fn not_stored(problem: &str) -> EventBody {
    failed(
        FailureCode::Internal,
        format!("The job's event log could not be stored: {problem}."),
        "Submit it again; the operator of this server should check its free disk space.",
    )
}

/// No worker could be started.
pub(super) fn no_worker(reason: &str) -> EventBody {
    failed(
        FailureCode::Internal,
        format!("The measuring process could not be started: {reason}."),
        "Run `hipward doctor` on the host: it lists what is missing and how to install it.",
    )
}

/// The supervisor ended without a report.
pub(super) fn lost(how: &str) -> EventBody {
    failed(
        FailureCode::Internal,
        format!("The measuring process was lost: {how}."),
        "Submit it again; the runner's log may have more details.",
    )
}

/// `8 GiB`, `1.5 MiB`.
fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    for (shift, unit) in units {
        if count >= 1 << shift {
            let rounded = (count as f64 / f64::from(1 << shift) * 10.0).round() / 10.0;
            return format!("{rounded} {unit}");
        }
    }
    format!("{count} bytes")
}
