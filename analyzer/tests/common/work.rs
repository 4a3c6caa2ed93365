//! Measures processor time, which does not depend on other load of the machine.

use std::{fs, time::Instant};

/// Seconds of processor time that `work` took on this thread; wall-clock time if the system does not provide it.
pub(crate) fn seconds_of<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (start, begun) = (Instant::now(), processor_seconds());
    let result = work();
    let seconds = match (begun, processor_seconds()) {
        (Some(begun), Some(ended)) => ended - begun,
        _ => start.elapsed().as_secs_f64(),
    };
    (result, seconds)
}

/// The first number is the processor time in nanoseconds; see the kernel's Documentation/scheduler/sched-stats.rst.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}
