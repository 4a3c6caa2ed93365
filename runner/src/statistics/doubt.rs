//! Reasons for which an interval is not conclusive: too few samples, a host that was busy with other work, times in two groups, a
//! control that differs from eager. Each makes an outcome AMBIGUOUS, with the reason.

use super::{Rounds, groups::two_groups};
use hipward_protocol::{Comparison, HostLoad, Outcome};

/// Minimum number of samples of a variant for a verdict, whatever stopped the sampling. From 9 on, the exact interval
/// of a median leaves out the longest and the shortest sample, so that no single disturbed call can be one of its ends.
const MIN_SAMPLES: usize = 10;
/// Minimum number of rounds, because the interval of a speed-up is resampled by rounds.
pub(super) const MIN_ROUNDS: usize = 5;

/// A host is too busy for a verdict if a task waited for a CPU this share of the time,
const MAX_PRESSURE: f64 = 0.20;
/// and other processes used this share of the CPUs' time. The second condition is needed because a job with more threads than CPUs waits for itself.
const MAX_OTHERS: f64 = 0.10;
/// The limit of that share where the kernel reports no pressure.
const MAX_OTHERS_WITHOUT_PRESSURE: f64 = 0.25;

/// Why two variants have too few samples for a verdict.
pub(super) fn too_few(eager: &Rounds, other: &Rounds) -> Option<String> {
    let count = |rounds: &Rounds| (rounds.values().map(Vec::len).sum::<usize>(), rounds.len());
    let is_enough = |(samples, rounds)| samples >= MIN_SAMPLES && rounds >= MIN_ROUNDS;
    let (of_eager, of_other) = (count(eager), count(other));
    let (whose, (samples, rounds)) = if !is_enough(of_other) {
        ("", of_other)
    } else if !is_enough(of_eager) {
        (" of eager", of_eager)
    } else {
        return None;
    };
    Some(format!(
        "too few samples{whose}: {samples} in {rounds} rounds, a verdict needs {MIN_SAMPLES} in {MIN_ROUNDS}"
    ))
}

/// Why times of the processor are not conclusive on this host.
pub(super) fn of_the_host(load: Option<&HostLoad>) -> Option<String> {
    load.filter(|load| is_busy(load)).map(in_words)
}

/// Why a comparison is not conclusive because of the control: eager differs from itself, and either that is
/// certain or the comparison is not far beyond it.
pub(super) fn of_the_control(
    control: Option<&Comparison>,
    compared: &Comparison,
) -> Option<String> {
    let control = control.filter(|control| control.outcome != Outcome::Same)?;
    if let Some(reason) = &control.reason {
        return Some(format!("the control has {reason}"));
    }
    let noise = noise_floor(control);
    let is_certain = control.ci_low > 1.0 || control.ci_high < 1.0;
    // Both eager and the variant may be off by that much.
    let far = noise * noise;
    let is_beyond = compared.ci_low > far || compared.ci_high < far.recip();
    (is_certain || !is_beyond).then(|| differs_from_itself(noise))
}

/// Describes how far eager differs from itself.
pub(super) fn differs_from_itself(noise: f64) -> String {
    let percent = (noise - 1.0) * 100.0;
    format!("eager, timed twice, differs from itself by up to {percent:.0} %")
}

/// The largest factor by which eager seemed to differ from itself.
pub(super) fn noise_floor(control: &Comparison) -> f64 {
    control.ci_high.max(control.ci_low.recip()).max(1.0)
}

/// Why a comparison is not conclusive because of the times: they fall into groups that are further apart than eager and the variant.
pub(super) fn of_the_times(eager: &Rounds, other: &Rounds, speedup: f64) -> Option<String> {
    let claimed = speedup.max(speedup.recip());
    let grouped = |whose: &str, rounds: &Rounds| {
        let samples: Vec<f64> = rounds.values().flatten().copied().collect();
        let groups = two_groups(&samples).filter(|groups| groups.factor() >= claimed)?;
        Some(format!(
            "{whose} times fall into two groups, around {} and {} ms",
            short(groups.quick),
            short(groups.slow)
        ))
    };
    grouped("eager's", eager).or_else(|| grouped("its", other))
}

/// Formats with two significant digits.
fn short(ms: f64) -> String {
    let decimals = (1 - ms.log10().floor() as i32).max(0) as usize;
    format!("{ms:.decimals$}")
}

/// Whether other processes took the CPUs from a job that runs on them.
fn is_busy(load: &HostLoad) -> bool {
    match (load.cpu_pressure, load.other_cpu_share) {
        (Some(pressure), Some(others)) => pressure >= MAX_PRESSURE && others >= MAX_OTHERS,
        (Some(pressure), None) => pressure >= MAX_PRESSURE,
        (None, Some(others)) => others >= MAX_OTHERS_WITHOUT_PRESSURE,
        (None, None) => false,
    }
}

fn in_words(load: &HostLoad) -> String {
    let percent = |share: f64| (share * 100.0).round();
    let mut parts = Vec::new();
    if let Some(others) = load.other_cpu_share {
        parts.push(format!(
            "other processes used {} % of the CPUs' time",
            percent(others)
        ));
    }
    if let Some(pressure) = load.cpu_pressure {
        parts.push(format!(
            "a task waited for a CPU {} % of the time",
            percent(pressure)
        ));
    }
    format!("the host was busy: {}", parts.join(", and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cpu_pressure: Option<f64>, other_cpu_share: Option<f64>) -> HostLoad {
        HostLoad {
            cpu_pressure,
            other_cpu_share,
            ..HostLoad::default()
        }
    }

    #[test]
    fn host_is_busy_if_other_processes_delay_the_job() {
        for (pressure, others, busy) in [
            (Some(0.93), Some(0.80), true),
            (Some(0.05), Some(0.02), false),
            // Other CPUs work, and nothing waits.
            (Some(0.02), Some(0.40), false),
            // The job has more threads than there are CPUs.
            (Some(0.80), Some(0.01), false),
            (None, Some(0.50), true),
            (None, Some(0.12), false),
            (Some(0.93), None, true),
            (None, None, false),
        ] {
            assert_eq!(
                is_busy(&load(pressure, others)),
                busy,
                "{pressure:?} {others:?}"
            );
        }
    }

    #[test]
    fn description_contains_the_values() {
        assert_eq!(
            in_words(&load(Some(0.934), Some(0.8))),
            "the host was busy: other processes used 80 % of the CPUs' time, and a task waited for a CPU 93 % of the time"
        );
        assert_eq!(
            [0.2, 0.034, 45.0, 1.26, 120.4].map(short),
            ["0.20", "0.034", "45", "1.3", "120"]
        );
    }
}
