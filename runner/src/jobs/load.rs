//! How busy the host is besides a job. Read from `/proc` by the server, because the job's process is not trusted.

use crate::{
    isolation::descendants,
    procfs::{self, Stat},
};
use hipward_protocol::HostLoad;
use nix::unistd::Pid;
use std::{collections::HashMap, fs, thread::available_parallelism, time::Instant};

/// Shortest time, in seconds, over which shares are computed.
const LEAST_SECONDS: f64 = 1.0;
/// Share of one CPU from which on a process counts as busy.
const BUSY: f64 = 0.1;

/// The counters of the system at one time.
#[derive(Debug)]
pub(super) struct Snapshot {
    at: Instant,
    /// Time during which some task waited for a CPU, microseconds.
    waited_us: Option<f64>,
    /// Ticks of the CPUs that this process may use: busy, and total.
    ticks: Option<(f64, f64)>,
    processes: HashMap<Pid, Stat>,
    /// Involuntary context switches of the job's threads.
    switches: u64,
    /// The job's processes.
    job: Vec<Pid>,
}

impl Snapshot {
    /// Reads the counters. `root` is the job's supervisor. Blocks, because it reads files of each process.
    pub(super) fn take(root: Option<u32>) -> Snapshot {
        let stats = procfs::processes().filter_map(|pid| Some((pid, Stat::read(pid)?)));
        let job = root.map_or_else(Vec::new, |root| {
            let root = Pid::from_raw(root.cast_signed());
            let mut job = descendants(root);
            job.push(root);
            job
        });
        Snapshot {
            at: Instant::now(),
            waited_us: pressure("total=", 1.0),
            ticks: ticks(),
            switches: job.iter().copied().map(involuntary_switches).sum(),
            processes: stats.collect(),
            job,
        }
    }

    /// The load since an earlier snapshot.
    pub(super) fn since(&self, earlier: &Snapshot) -> HostLoad {
        let mut load = HostLoad {
            cpu_pressure: None,
            ..self.now()
        };
        let seconds = self.at.duration_since(earlier.at).as_secs_f64();
        if seconds < LEAST_SECONDS {
            return load;
        }
        load.cpu_pressure = self
            .waited_us
            .zip(earlier.waited_us)
            .map(|(now, then)| ((now - then) * 1e-6 / seconds).clamp(0.0, 1.0));
        load.involuntary_switches =
            (!self.job.is_empty()).then(|| self.switches.saturating_sub(earlier.switches));
        let ((busy, all), (busy_then, all_then)) = match (self.ticks, earlier.ticks) {
            (Some(now), Some(then)) if now.1 > then.1 => (now, then),
            _ => return load,
        };
        let all = all - all_then;
        let used = |pid: &Pid, process: &Stat| {
            let before = earlier.processes.get(pid);
            let before = before.filter(|before| before.started == process.started);
            process.cpu_ticks - before.map_or(0.0, |before| before.cpu_ticks)
        };
        let of_job = |pid: &Pid| self.job.contains(pid);
        let job: f64 = self
            .processes
            .iter()
            .filter(|(id, _)| of_job(id))
            .map(|(id, process)| used(id, process))
            .sum();
        load.other_cpu_share = Some(((busy - busy_then - job) / all).clamp(0.0, 1.0));
        let one_cpu = all / f64::from(load.cpus.max(1));
        let ours = Pid::this();
        let busy = self.processes.iter().filter(|(id, process)| {
            !of_job(id) && **id != ours && used(id, process) >= BUSY * one_cpu
        });
        load.busy_processes = u32::try_from(busy.count()).ok();
        load
    }

    /// The load before a job: since an earlier snapshot, and the averages of the kernel.
    pub(super) fn before(&self, earlier: &Snapshot) -> HostLoad {
        HostLoad {
            cpu_pressure: self.now().cpu_pressure,
            involuntary_switches: None,
            ..self.since(earlier)
        }
    }

    /// The averages of the kernel, without an earlier snapshot.
    fn now(&self) -> HostLoad {
        let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        HostLoad {
            cpus: available_parallelism().map_or(0, |cpus| cpus.get() as u32),
            load_average: average.split(' ').next().and_then(|text| text.parse().ok()),
            cpu_pressure: pressure("avg10=", 0.01),
            ..HostLoad::default()
        }
    }
}

/// A value of the line `some` of `/proc/pressure/cpu`, multiplied by `unit`.
fn pressure(name: &str, unit: f64) -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let line = text.lines().find(|line| line.starts_with("some"))?;
    let figure = line.split(' ').find_map(|field| field.strip_prefix(name))?;
    figure.parse::<f64>().ok().map(|figure| figure * unit)
}

/// Busy and total ticks of the CPUs that this process may use.
fn ticks() -> Option<(f64, f64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let allowed = cpu_list(procfs::status_field(&status, "Cpus_allowed_list:")?)?;
    let text = fs::read_to_string("/proc/stat").ok()?;
    let mut sums = (0.0, 0.0);
    for line in text.lines() {
        let Some((cpu, fields)) = line
            .strip_prefix("cpu")
            .and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        let is_allowed = cpu.parse::<u32>().is_ok_and(|cpu| {
            allowed
                .iter()
                .any(|&(first, last)| (first..=last).contains(&cpu))
        });
        if !is_allowed {
            continue;
        }
        // user, nice, system, idle, iowait, irq, softirq, steal. The fields after them are included in user and nice.
        let fields: Vec<f64> = fields
            .split_whitespace()
            .take(8)
            .filter_map(|field| field.parse().ok())
            .collect();
        let all: f64 = fields.iter().sum();
        let idle: f64 = fields.iter().skip(3).take(2).sum();
        sums.0 += all - idle;
        sums.1 += all;
    }
    (sums.1 > 0.0).then_some(sums)
}

/// `0-3,8` as ranges.
fn cpu_list(text: &str) -> Option<Vec<(u32, u32)>> {
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some((first.parse().ok()?, last.parse().ok()?)),
        None => part.parse().ok().map(|cpu| (cpu, cpu)),
    };
    text.split(',').map(range).collect()
}

fn involuntary_switches(process: Pid) -> u64 {
    let count = |status: String| {
        let count = procfs::status_field(&status, "nonvoluntary_ctxt_switches:")?;
        count.parse::<u64>().ok()
    };
    procfs::threads(process)
        .filter_map(|thread| count(fs::read_to_string(thread.path().join("status")).ok()?))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        process::{Child, Command},
        thread::sleep,
        time::Duration,
    };

    struct Burner(Child);

    impl Burner {
        fn start() -> Burner {
            let mut command = Command::new("sh");
            Burner(
                command
                    .args(["-c", "while :; do :; done"])
                    .spawn()
                    .expect("sh runs"),
            )
        }
    }

    impl Drop for Burner {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// The same process, first outside of the job and then as a part of it.
    #[test]
    fn busy_process_is_counted_unless_it_belongs_to_the_job() {
        let burner = Burner::start();
        let id = burner.0.id();
        let snapshots = |root| {
            let before = Snapshot::take(root);
            sleep(Duration::from_millis(1500));
            let after = Snapshot::take(root);
            let pid = Pid::from_raw(id.cast_signed());
            assert!(after.processes[&pid].cpu_ticks > before.processes[&pid].cpu_ticks);
            after.since(&before)
        };
        let foreign = snapshots(None);
        assert!(
            foreign.cpus > 0 && foreign.load_average.is_some(),
            "{foreign:?}"
        );
        assert!(
            foreign.other_cpu_share.expect("/proc/stat") > 0.0,
            "{foreign:?}"
        );
        assert!(foreign.busy_processes.expect("counted") >= 1, "{foreign:?}");
        assert_eq!(foreign.involuntary_switches, None);
        let own = snapshots(Some(id));
        assert!(own.involuntary_switches.is_some(), "{own:?}");
    }

    #[test]
    fn shares_are_absent_for_short_intervals() {
        let before = Snapshot::take(None);
        let load = Snapshot::take(None).since(&before);
        assert_eq!((load.other_cpu_share, load.busy_processes), (None, None));
    }

    #[test]
    fn cpu_lists_are_parsed() {
        assert_eq!(cpu_list("0-3,8"), Some(vec![(0, 3), (8, 8)]));
        assert_eq!(cpu_list("x"), None);
    }
}
