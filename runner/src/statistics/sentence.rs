//! The summary of a verdict in one sentence, with its caveats.

use super::{Samples, doubt::differs_from_itself, summarize, verdict::MAX_SAME};
use hipward_protocol::{Comparison, Outcome, StopReason, VariantId};

/// Summarizes the comparisons, the best first.
pub(super) fn sentence(
    samples: &Samples,
    comparisons: &[Comparison],
    best: Option<&Comparison>,
    floor: f64,
) -> String {
    let with = |outcome, reason: Option<&str>| {
        let labels: Vec<&str> = comparisons
            .iter()
            .filter(|c| c.outcome == outcome && c.reason.as_deref() == reason)
            .map(|comparison| samples.label(&comparison.variant))
            .collect();
        (!labels.is_empty()).then(|| labels.join(", "))
    };
    let impossible = with(Outcome::Impossible, None).map(|labels| {
        format!("impossible: {labels} (faster than this device can read and write what it must)")
    });
    let mut reasons: Vec<&str> = comparisons
        .iter()
        .filter_map(|comparison| comparison.reason.as_deref())
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    let doubtful = reasons.iter().filter_map(|&reason| {
        let labels = with(Outcome::Ambiguous, Some(reason))?;
        Some(format!("ambiguous: {labels} ({reason})"))
    });
    if let Some(best) = best {
        let first = format!(
            "{} is {:.2} times as fast as eager here (95 % interval {:.2} to {:.2})",
            samples.label(&best.variant),
            best.speedup,
            best.ci_low,
            best.ci_high
        );
        let parts: Vec<String> = [first]
            .into_iter()
            .chain(impossible)
            .chain(doubtful)
            .collect();
        return format!(
            "{}.{}",
            parts.join("; "),
            caveat(samples, &best.variant, floor).unwrap_or_default()
        );
    }
    let known = [
        with(Outcome::Same, None).map(|labels| format!("no difference worth a claim: {labels}")),
        with(Outcome::Slower, None).map(|labels| format!("slower: {labels}")),
        with(Outcome::Ambiguous, None).map(|labels| {
            let noise = (floor - 1.0) * 100.0;
            format!("too noisy to tell: {labels} (eager differs from itself by up to {noise:.0} %)")
        }),
        impossible,
    ];
    let is_doubtful = !reasons.is_empty();
    let parts: Vec<String> = known.into_iter().flatten().collect();
    let is_judged = !parts.is_empty();
    let parts: Vec<String> = parts.into_iter().chain(doubtful).collect();
    let untimed = samples.untimed().join(", ");
    if is_doubtful && !is_judged {
        format!("No verdict; {}.", parts.join("; "))
    } else if !untimed.is_empty() && parts.is_empty() {
        format!("Only eager could be timed. The table says why these could not: {untimed}.")
    } else if parts.is_empty() {
        "Only eager was measured, so there is nothing to compare it with.".to_owned()
    } else {
        format!(
            "Nothing was measurably faster than eager here; {}.",
            parts.join("; ")
        )
    }
}

/// The caveats of a speed-up: a wide spread, a noisy control.
fn caveat(samples: &Samples, best: &VariantId, floor: f64) -> Option<String> {
    let eager = VariantId::EAGER;
    let wide = [&eager, best].into_iter().filter(|&variant| {
        summarize(&samples.all(variant), StopReason::Converged, 0)
            .is_some_and(|stats| stats.wide_spread)
    });
    let labels: Vec<&str> = wide.map(|variant| samples.label(variant)).collect();
    let mut parts = Vec::new();
    if !labels.is_empty() {
        let labels = labels.join(" and ");
        parts.push(format!("the times of {labels} spread over more than 10 %"));
    }
    if floor > MAX_SAME {
        parts.push(differs_from_itself(floor));
    }
    (!parts.is_empty()).then(|| format!(" Read with care: {}.", parts.join("; ")))
}
