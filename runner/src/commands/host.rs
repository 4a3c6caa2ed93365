//! The arguments that describe a runner, shared by the commands that have one. Where its jobs are kept is theirs.

use crate::jobs::{Settings, level_name, prepare_data_folder};
use hipward_protocol::IsolationLevel;
use std::{path::PathBuf, time::Duration};

/// What to run jobs with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// Python that has PyTorch [default: $HIPWARD_PYTHON, the one that `make serve` installed, python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Folder with a `hipward_kernels` to use in place of the built-in one
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    kernels: Option<PathBuf>,
    /// Longest a job may run, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    wall_limit: Duration,
    /// Most memory a job may hold
    #[arg(long, value_name = "SIZE", default_value = "8GiB", value_parser = bytes)]
    memory_limit: u64,
    /// Longest sampling time per variant, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = seconds)]
    time_cap: Duration,
    /// Most jobs that may wait for a device
    #[arg(
        long,
        value_name = "JOBS",
        default_value = "1000",
        hide_short_help = true
    )]
    queue_limit: usize,
    /// Isolation below which nothing is run: limits, syscalls or files [default: files where others can send code, else
    /// limits]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    minimum_isolation: Option<IsolationLevel>,
    /// Newest version of Landlock to use, 0 for none: what tests see of older kernels
    #[arg(long, value_name = "ABI", hide = true)]
    newest_landlock: Option<u32>,
}

/// Who can send code to the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Senders {
    /// The one who started it.
    Operator,
    /// Holders of a token that was given, or all users of this machine.
    Others,
}

impl HostArgs {
    /// The settings of a runner that keeps its jobs in `data`, which is closed to others from now on.
    pub(crate) fn settings(self, data: PathBuf, senders: Senders) -> Result<Settings, String> {
        // Workers start in a folder of their own, where a relative path would mean another.
        let absolute = |path: PathBuf| {
            std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let data = absolute(data)?;
        prepare_data_folder(&data).map_err(|error| {
            let data = data.display();
            format!("cannot keep jobs in {data}: {error}; choose a folder of yours with --data")
        })?;
        let default_isolation = match senders {
            Senders::Operator => IsolationLevel::Limits,
            Senders::Others => IsolationLevel::Files,
        };
        Ok(Settings {
            data,
            python: self.python,
            kernels: self.kernels.map(absolute).transpose()?,
            wall_limit: self.wall_limit,
            memory_bytes: self.memory_limit,
            time_cap_s: self.time_cap.as_secs_f64(),
            queue_limit: self.queue_limit,
            minimum_isolation: self.minimum_isolation.unwrap_or(default_isolation),
            newest_landlock: self.newest_landlock,
        })
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
    } else {
        Err("must be more than 0".to_owned())
    }
}

/// `8GiB`, `512MiB`, `1000000`.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err("use KiB, MiB, GiB or TiB".to_owned()),
    };
    let number: u64 = digits
        .trim()
        .parse()
        .map_err(|_| "not a size such as 8GiB".to_owned())?;
    let size = number.checked_mul(1 << shift).ok_or("too large")?;
    // Less than an interpreter with PyTorch needs would fail every job.
    if size < 256 << 20 {
        return Err("must be at least 256MiB".to_owned());
    }
    Ok(size)
}

fn level(text: &str) -> Result<IsolationLevel, String> {
    let levels = [
        IsolationLevel::Limits,
        IsolationLevel::Syscalls,
        IsolationLevel::Files,
    ];
    levels
        .into_iter()
        .find(|&level| level_name(level) == text)
        .ok_or_else(|| "use limits, syscalls or files".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(bytes("8GiB"), Ok(8 << 30));
        assert_eq!(bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(bytes("1073741824"), Ok(1 << 30));
        for wrong in ["", "GiB", "8 parsecs", "-1GiB", "99999999TiB", "1KiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_a_time_that_passes() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "NaN", "inf", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
