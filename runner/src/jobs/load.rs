//! How busy the host is beside a job, read from `/proc` by the server: the job's own process could say anything.

use hipward_protocol::HostLoad;
use std::{collections::HashMap, fs, thread::available_parallelism, time::Instant};

/// Over less time than this, shares of it say nothing.
const LEAST_SECONDS: f64 = 1.0;
/// Share of one CPU from which a process counts as busy.
const BUSY: f64 = 0.1;

/// What the system has counted up to one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    at: Instant,
    /// Microseconds in which some task waited for a CPU.
    waited_us: Option<f64>,
    /// Ticks of the CPUs that we may use: busy, and all.
    ticks: Option<(f64, f64)>,
    processes: HashMap<i32, Process>,
    /// Involuntary context switches of the job's threads.
    switches: u64,
    /// The job's processes.
    job: Vec<i32>,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    parent: i32,
    /// CPU time in ticks, with that of children that have ended.
    ticks: f64,
    /// When it began, in ticks since the system did: an id may be used again.
    started: u64,
}

impl Snapshot {
    /// Counts everything now. `root` is the job's supervisor. Reads a file or two for each process: not for async threads.
    pub(super) fn take(root: Option<u32>) -> Snapshot {
        let processes = processes();
        let job = root.map_or_else(Vec::new, |root| below(root.cast_signed(), &processes));
        Snapshot {
            at: Instant::now(),
            waited_us: pressure("total=", 1.0),
            ticks: ticks(),
            switches: job.iter().copied().map(involuntary_switches).sum(),
            processes,
            job,
        }
    }

    /// What happened since an earlier snapshot.
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
        let used = |id: &i32, process: &Process| {
            let before = earlier.processes.get(id);
            let before = before.filter(|before| before.started == process.started);
            process.ticks - before.map_or(0.0, |before| before.ticks)
        };
        let of_job = |id: &i32| self.job.contains(id);
        let job: f64 = self
            .processes
            .iter()
            .filter(|(id, _)| of_job(id))
            .map(|(id, process)| used(id, process))
            .sum();
        load.other_cpu_share = Some(((busy - busy_then - job) / all).clamp(0.0, 1.0));
        let one_cpu = all / f64::from(load.cpus.max(1));
        let ours = std::process::id().cast_signed();
        let busy = self.processes.iter().filter(|(id, process)| {
            !of_job(id) && **id != ours && used(id, process) >= BUSY * one_cpu
        });
        load.busy_processes = u32::try_from(busy.count()).ok();
        load
    }

    /// The load before a job: what happened since an earlier snapshot, and the kernel's own averages.
    pub(super) fn before(&self, earlier: &Snapshot) -> HostLoad {
        HostLoad {
            cpu_pressure: self.now().cpu_pressure,
            involuntary_switches: None,
            ..self.since(earlier)
        }
    }

    /// What can be said of this moment alone: the kernel's own averages.
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

/// A figure of the line `some` of `/proc/pressure/cpu`.
fn pressure(name: &str, unit: f64) -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let line = text.lines().find(|line| line.starts_with("some"))?;
    let figure = line.split(' ').find_map(|field| field.strip_prefix(name))?;
    figure.parse::<f64>().ok().map(|figure| figure * unit)
}

/// Busy and all ticks of the CPUs that this process may use.
fn ticks() -> Option<(f64, f64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let allowed = cpu_list(list.trim())?;
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
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice.
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

fn processes() -> HashMap<i32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((id, process(&stat)?))
        })
        .collect()
}

/// A process's line in `/proc/PID/stat`. Its name may hold anything, so fields are counted from the last bracket on.
fn process(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// A process and everything below it.
fn below(root: i32, processes: &HashMap<i32, Process>) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (&id, process) in processes {
        children.entry(process.parent).or_default().push(id);
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        next += 1;
        found.extend(children.remove(parent).unwrap_or_default());
    }
    found
}

fn involuntary_switches(process: i32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let count = |status: String| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    threads
        .into_iter()
        .flatten()
        .flatten()
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

    /// The same process belongs to the job, or not.
    #[test]
    fn a_process_that_computes_is_seen_unless_it_is_the_jobs() {
        let burner = Burner::start();
        let id = burner.0.id();
        let snapshots = |root| {
            let before = Snapshot::take(root);
            sleep(Duration::from_millis(1500));
            let after = Snapshot::take(root);
            assert!(
                after.processes[&id.cast_signed()].ticks
                    > before.processes[&id.cast_signed()].ticks
            );
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
    fn a_moment_is_too_short_for_shares() {
        let before = Snapshot::take(None);
        let load = Snapshot::take(None).since(&before);
        assert_eq!((load.other_cpu_share, load.busy_processes), (None, None));
    }

    #[test]
    fn lists_and_lines_of_the_kernel_are_read() {
        assert_eq!(cpu_list("0-3,8"), Some(vec![(0, 3), (8, 8)]));
        assert_eq!(cpu_list("x"), None);
        let line = "7 (a ) b) R 1 7 7 0 -1 4194560 120 0 0 0 30 12 5 1 20 0 1 0 4242 0 0";
        let found = process(line).expect("a line");
        assert_eq!((found.parent, found.ticks, found.started), (1, 48.0, 4242));
    }
}
