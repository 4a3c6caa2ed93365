//! The arguments of a runner, shared by the commands that start one. Each command chooses the data folder.

use crate::{
    isolation::PermittedMechanisms,
    jobs::{QueueLimits, Settings, is_label, prepare_data_folder},
};
use clap::ValueEnum;
use hipward_protocol::IsolationLevel;
use std::{path::PathBuf, time::Duration};

/// Arguments of a runner with a queue.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    runner: RunnerArgs,
    /// Maximum number of queued jobs
    #[arg(
        long,
        value_name = "JOBS",
        default_value = "1000",
        hide_short_help = true
    )]
    queue_limit: usize,
    /// Maximum number of queued jobs of one token, other than the operator's
    #[arg(
        long,
        value_name = "JOBS",
        default_value = "100",
        hide_short_help = true
    )]
    token_queue_limit: usize,
    /// Maximum number of running jobs of one token, other than the operator's [default: no limit]
    #[arg(long, value_name = "JOBS", hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..))]
    token_running_limit: Option<u16>,
    /// Time for which jobs of one token, other than the operator's, may use devices on a day (UTC), such as 60m [default: no limit]
    #[arg(long, value_name = "AGE", hide_short_help = true, value_parser = age)]
    token_device_time: Option<Duration>,
}

/// Arguments of a runner.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunnerArgs {
    /// Python with PyTorch [default: $HIPWARD_PYTHON, the one that `make serve` installed, python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Folder with a `hipward_kernels` to use instead of the built-in one
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    kernels: Option<PathBuf>,
    /// Time limit of a job, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    wall_limit: Duration,
    /// Memory limit of a job
    #[arg(long, value_name = "SIZE", default_value = "8GiB", value_parser = memory)]
    memory_limit: u64,
    /// Limit of the sampling time per variant, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = seconds)]
    time_cap: Duration,
    /// Isolation level below which no job runs: limits, syscalls, files or namespaces [default: files where others can send code, else
    /// limits]
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
    minimum_isolation: Option<Level>,
    /// Newest Landlock ABI to use, 0 for none: simulates older kernels in tests
    #[arg(long, value_name = "ABI", hide = true)]
    newest_landlock: Option<u32>,
    /// Use no seccomp filter: simulates other kernels in tests
    #[arg(long, hide = true)]
    no_seccomp: bool,
    /// Use no cgroups: simulates other hosts in tests
    #[arg(long, hide = true)]
    no_cgroup: bool,
    /// Use no bubblewrap: simulates other hosts in tests
    #[arg(long, hide = true)]
    no_bubblewrap: bool,
}

/// The labels of a host that runs the jobs of others. `hipward bench` has labels of jobs instead.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LabelArgs {
    /// Label of this host, which jobs can require; may be repeated
    #[arg(long, value_name = "LABEL", hide_short_help = true, value_parser = label)]
    pub(crate) label: Vec<String>,
}

/// Who can send code to the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Senders {
    /// Only the user who started it.
    Operator,
    /// Others with a token, or all users of this machine.
    Others,
}

impl HostArgs {
    /// The settings of a runner with this data folder, as [`RunnerArgs::settings`].
    pub(crate) fn settings(self, data: PathBuf, senders: Senders) -> Result<Settings, String> {
        Ok(Settings {
            queue_limits: QueueLimits {
                total: self.queue_limit,
                per_owner: self.token_queue_limit,
                device_time_per_day: self.token_device_time,
            },
            running_limit: self.token_running_limit.map(usize::from),
            ..self.runner.settings(data, senders)?
        })
    }
}

impl RunnerArgs {
    /// The settings of a runner with this data folder. Removes other users' permissions from the folder.
    pub(crate) fn settings(self, data: PathBuf, senders: Senders) -> Result<Settings, String> {
        // Workers have a working directory of their own, so paths must be absolute.
        let absolute = |path: PathBuf| {
            std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let data = absolute(data)?;
        prepare_data_folder(&data).map_err(|error| {
            let data = data.display();
            format!("cannot use the data folder {data}: {error}; choose a folder that you own with --data")
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
            // A runner without a queue accepts no job.
            queue_limits: QueueLimits {
                total: 0,
                per_owner: 0,
                device_time_per_day: None,
            },
            running_limit: None,
            labels: Vec::new(),
            minimum_isolation: self.minimum_isolation.map_or(default_isolation, Into::into),
            minimum_isolation_for_others: self
                .minimum_isolation
                .map_or(IsolationLevel::Files, Into::into),
            mechanisms: PermittedMechanisms {
                newest_landlock: self.newest_landlock,
                no_seccomp: self.no_seccomp,
                no_cgroup: self.no_cgroup,
                no_bubblewrap: self.no_bubblewrap,
            },
        })
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
    } else {
        Err("must be more than 0".to_owned())
    }
}

/// A label of a host.
fn label(text: &str) -> Result<String, String> {
    if !is_label(text) {
        return Err("use up to 32 lower-case letters, digits, - and .".to_owned());
    }
    Ok(text.to_owned())
}

/// The memory limit of a job.
fn memory(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    // Below this, PyTorch does not start and every job would fail.
    if size < 256 << 20 {
        return Err("must be at least 256MiB".to_owned());
    }
    Ok(size)
}

/// `8GiB`, `512MiB`, `1000000`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
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
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large".to_owned())
}

/// `90d`, `12h`, `30m`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return Err("use d for days, h for hours, m for minutes, such as 90d".to_owned()),
    };
    let number: u64 = number
        .trim()
        .parse()
        .map_err(|_| "not a time such as 90d".to_owned())?;
    let seconds = number.checked_mul(unit).ok_or("too long")?;
    match seconds {
        0 => Err("must be more than 0".to_owned()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

/// [`IsolationLevel`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    Limits,
    Syscalls,
    Files,
    Namespaces,
}

impl From<Level> for IsolationLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Limits => IsolationLevel::Limits,
            Level::Syscalls => IsolationLevel::Syscalls,
            Level::Files => IsolationLevel::Files,
            Level::Namespaces => IsolationLevel::Namespaces,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(memory("8GiB"), Ok(8 << 30));
        assert_eq!(memory("512 MiB"), Ok(512 << 20));
        assert_eq!(memory("1073741824"), Ok(1 << 30));
        for wrong in ["", "GiB", "8 parsecs", "-1GiB", "99999999TiB", "1KiB"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_are_parsed() {
        assert_eq!(age("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(43_200)));
        for wrong in [
            "",
            "d",
            "90",
            "0d",
            "-1d",
            "5 parsecs",
            "99999999999999999999d",
        ] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_limits_must_be_positive() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "NaN", "inf", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
