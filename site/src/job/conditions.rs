//! The conditions of a measurement, as a list of names and values.

use super::format::number;
use hipward_protocol::{Environment, Isolation, IsolationLevel};

/// Everything that must be known to read the numbers.
pub(crate) fn conditions(environment: &Environment) -> Vec<(&'static str, String)> {
    let e = environment;
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

/// What a level means to a reader.
pub(crate) fn level(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Limits => "resource limits only",
        IsolationLevel::Syscalls => "resource limits and system calls",
        IsolationLevel::Files => "resource limits, system calls and files",
    }
}
