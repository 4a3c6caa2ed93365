//! The conditions of a measurement, as a list of names and values.

use crate::format::{fixed, number};
use hipward_protocol::{HostLoad, Idle, Isolation, IsolationLevel, JobView};

/// Everything that must be known to read the numbers; empty before the harness has said any of it.
pub(crate) fn conditions(view: &JobView) -> Vec<(&'static str, String)> {
    let Some(e) = &view.environment else {
        return Vec::new();
    };
    let mut list = vec![
        ("Device", format!("{} ({})", e.device_name, e.arch)),
        ("PyTorch", e.torch.clone()),
    ];
    let optional = [
        ("ROCm (HIP)", &e.hip),
        ("CUDA", &e.cuda),
        ("Triton", &e.triton),
        ("Driver", &e.driver),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            list.push((name, value.clone()));
        }
    }
    list.push(("Python", e.python.clone()));
    list.push(("CPU threads of PyTorch", e.threads.to_string()));
    list.push((
        "Clock",
        format!(
            "{}; timing nothing takes {} ms",
            e.clock,
            number(e.clock_overhead_ms)
        ),
    ));
    list.push(("Caches", e.cache.clone()));
    list.push(("Stop rule", e.stop_rule.clone()));
    if let Some(idle) = &e.idle {
        list.push(("Device before the run", idle_readings(idle)));
    }
    let timed = view
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.load.as_ref());
    for (name, load) in [
        ("Host before the run", e.load.as_ref()),
        ("Host during the timing", timed),
    ] {
        if let Some(load) = load {
            list.push((name, host_load(load)));
        }
    }
    if let Some(throttle) = &e.throttle {
        list.push(("Throttling", throttle.clone()));
    }
    for (name, value) in &e.variables {
        list.push(("Environment variable", format!("{name}={value}")));
    }
    if let Some(isolation) = &e.isolation {
        list.push(("Isolation", isolated(isolation)));
    }
    list.push(("Code (SHA-256)", e.code_sha256.clone()));
    list.push(("Hipward", e.hipward.clone()));
    list
}

/// Sensor values in one line.
fn idle_readings(idle: &Idle) -> String {
    if let Some(why) = &idle.unreadable {
        return format!("not readable: {why}");
    }
    let mut parts = Vec::new();
    if let Some(mhz) = idle.sm_mhz {
        parts.push(match idle.max_sm_mhz {
            Some(most) => format!("compute clock {mhz} of {most} MHz"),
            None => format!("compute clock {mhz} MHz"),
        });
    }
    if let Some(mhz) = idle.memory_mhz {
        parts.push(format!("memory clock {mhz} MHz"));
    }
    for (value, unit) in [
        (idle.temperature_c, " °C"),
        (idle.power_w, " W"),
        (idle.busy_percent, " % busy"),
    ] {
        if let Some(value) = value {
            parts.push(format!("{}{unit}", fixed(value, 0)));
        }
    }
    if let Some(others) = idle.other_processes {
        parts.push(match others {
            0 => "no other process".to_owned(),
            1 => "1 other process".to_owned(),
            n => format!("{n} other processes"),
        });
    }
    if let Some(partition) = &idle.partition {
        parts.push(format!("divided as {partition}"));
    }
    if let Some(source) = &idle.source {
        parts.push(format!("read from {source}"));
    }
    parts.join(", ")
}

/// Load of the host in one line.
fn host_load(load: &HostLoad) -> String {
    let mut parts = vec![format!("{} CPUs", load.cpus)];
    if let Some(average) = load.load_average {
        parts.push(format!("load average {}", fixed(average, 1)));
    }
    if let Some(pressure) = load.cpu_pressure {
        parts.push(format!(
            "a task waited for a CPU {} % of the time",
            fixed(pressure * 100.0, 0)
        ));
    }
    if let Some(share) = load.other_cpu_share {
        parts.push(format!(
            "other processes used {} % of the CPUs’ time",
            fixed(share * 100.0, 0)
        ));
    }
    if let Some(busy) = load.busy_processes {
        parts.push(format!("other busy processes: {busy}"));
    }
    if let Some(switches) = load.involuntary_switches {
        parts.push(format!(
            "involuntary context switches of the job: {switches}"
        ));
    }
    parts.join(", ")
}

fn isolated(isolation: &Isolation) -> String {
    let mut text = format!(
        "{}: {}",
        level(isolation.level),
        isolation.mechanisms.join(", ")
    );
    if !isolation.missing.is_empty() {
        text.push_str("; not on this host: ");
        text.push_str(&isolation.missing.join(", "));
    }
    text
}

/// Description of an isolation level.
pub(crate) fn level(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Limits => "resource limits only",
        IsolationLevel::Syscalls => "resource limits and system calls",
        IsolationLevel::Files => "resource limits, system calls and files",
        IsolationLevel::Namespaces => "resource limits, system calls, files and namespaces",
    }
}
