//! What the measurements of a whole job say, in figures and in one sentence. Judged from
//! intervals, never from a single number.

use super::{Rounds, Samples, bootstrap::ratio_interval, median};
use hipward_protocol::{Comparison, Outcome, Variant, Verdict};

/// Differences under 2 % are not worth a claim.
const NOT_WORTH_A_CLAIM: f64 = 1.02;
/// What may differ by more than 10 % is not the same, however much eager differs from itself.
const MOST_ALIKE: f64 = 1.10;

/// Compares every measured rung with eager; nothing if eager was not measured.
pub(crate) fn verdict(samples: &Samples) -> Option<Verdict> {
    let eager = samples.rounds(&Variant::EAGER)?;
    // A floor that eager itself is under was reckoned wrongly, and says nothing about others.
    let shortest = samples.floor_ms().filter(|floor| *floor < overall(eager));
    let compare = |variant: &Variant, floor| {
        let other = samples.rounds(variant)?;
        let mut comparison = comparison(variant, eager, other, floor);
        if shortest.is_some_and(|shortest| overall(other) < shortest) {
            comparison.outcome = Outcome::Impossible;
        }
        Some(comparison)
    };
    // The control is eager too: it is the same by construction, however noisy.
    let control = compare(&Variant::CONTROL, f64::INFINITY);
    let floor = control.as_ref().map_or(1.0, noise_floor);
    let comparisons: Vec<Comparison> = samples
        .timed()
        .into_iter()
        .filter(|&variant| *variant != Variant::EAGER && *variant != Variant::CONTROL)
        .filter_map(|variant| compare(variant, floor))
        .collect();
    let faster = comparisons.iter().filter(|c| c.outcome == Outcome::Faster);
    let best = faster
        .max_by(|a, b| a.speedup.total_cmp(&b.speedup))
        .cloned();
    Some(Verdict {
        summary: sentence(samples, &comparisons, best.as_ref(), floor),
        comparisons,
        control,
        best: best.map(|comparison| comparison.variant),
    })
}

/// The median of all rounds.
fn overall(rounds: &Rounds) -> f64 {
    let mut all: Vec<f64> = rounds.values().flatten().copied().collect();
    median(&mut all)
}

fn comparison(variant: &Variant, eager: &Rounds, other: &Rounds, floor: f64) -> Comparison {
    let (ci_low, ci_high) = ratio_interval(eager, other);
    Comparison {
        variant: variant.clone(),
        speedup: overall(eager) / overall(other),
        ci_low,
        ci_high,
        outcome: outcome(ci_low, ci_high, floor),
    }
}

/// The largest factor by which eager seemed to differ from itself.
fn noise_floor(control: &Comparison) -> f64 {
    control.ci_high.max(control.ci_low.recip()).max(1.0)
}

/// "Same" comes first: a difference that is certain but under 2 % is still not worth a claim.
fn outcome(low: f64, high: f64, floor: f64) -> Outcome {
    let same = floor.clamp(NOT_WORTH_A_CLAIM, MOST_ALIKE);
    if low >= same.recip() && high <= same {
        Outcome::Same
    } else if low > floor {
        Outcome::Faster
    } else if high < floor.recip() {
        Outcome::Slower
    } else {
        Outcome::Ambiguous
    }
}

fn sentence(
    samples: &Samples,
    comparisons: &[Comparison],
    best: Option<&Comparison>,
    floor: f64,
) -> String {
    let with = |outcome| {
        let labels: Vec<&str> = comparisons
            .iter()
            .filter(|comparison| comparison.outcome == outcome)
            .map(|comparison| samples.label(&comparison.variant))
            .collect();
        (!labels.is_empty()).then(|| labels.join(", "))
    };
    let impossible = with(Outcome::Impossible).map(|labels| {
        format!("impossible: {labels} (faster than this device can read and write what it must)")
    });
    if let Some(best) = best {
        let first = format!(
            "{} is {:.2} times as fast as eager here (95 % interval {:.2} to {:.2})",
            samples.label(&best.variant),
            best.speedup,
            best.ci_low,
            best.ci_high
        );
        return format!(
            "{}.",
            [Some(first), impossible]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; ")
        );
    }
    let parts: Vec<String> = [
        with(Outcome::Same).map(|labels| format!("no difference worth a claim: {labels}")),
        with(Outcome::Slower).map(|labels| format!("slower: {labels}")),
        with(Outcome::Ambiguous).map(|labels| {
            let noise = (floor - 1.0) * 100.0;
            format!("too noisy to tell: {labels} (eager differs from itself by up to {noise:.0} %)")
        }),
        impossible,
    ]
    .into_iter()
    .flatten()
    .collect();
    let untimed = samples.untimed().join(", ");
    if !untimed.is_empty() && parts.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::Rung;

    /// Some rungs as a harness announces them: not in the order of their names.
    fn ladder() -> Vec<Rung> {
        [
            ("eager", "Eager"),
            ("eager-control", "Eager again (control)"),
            ("compile", "torch.compile"),
            ("model-new", "ModelNew"),
            ("fused-ops", "Fused ops"),
        ]
        .map(|(id, label)| Rung {
            id: Variant::named(id),
            label: label.to_owned(),
            about: String::new(),
        })
        .into()
    }

    /// Twelve rounds of samples that spread by `noise` around `center`.
    fn samples(rungs: &[(Variant, f64, f64)]) -> Samples {
        let mut samples = Samples::default();
        samples.announce(&ladder());
        for (nth, (variant, center, noise)) in rungs.iter().enumerate() {
            for round in 0..12_u32 {
                let swing = f64::from((round * 7 + nth as u32 * 5) % 11) / 5.0 - 1.0;
                let around = center * (1.0 + noise * swing);
                samples.add(variant, round, &[around * 0.999, around, around * 1.001]);
            }
        }
        samples
    }

    fn judged(rungs: &[(Variant, f64, f64)]) -> Verdict {
        verdict(&samples(rungs)).expect("eager was measured")
    }

    #[test]
    fn rungs_stand_in_the_order_of_the_announcement_and_unknown_ones_last() {
        let verdict = judged(&[
            (Variant::EAGER, 10.0, 0.01),
            (Variant::named("another"), 8.0, 0.01),
            (Variant::named("fused-ops"), 8.0, 0.01),
            (Variant::named("model-new"), 8.0, 0.01),
        ]);
        let names: Vec<&str> = verdict
            .comparisons
            .iter()
            .map(|comparison| comparison.variant.name())
            .collect();
        assert_eq!(names, ["model-new", "fused-ops", "another"]);
    }

    #[test]
    fn a_clear_gain_is_faster_and_is_named() {
        let verdict = judged(&[
            (Variant::EAGER, 10.0, 0.01),
            (Variant::CONTROL, 10.0, 0.01),
            (Variant::named("compile"), 5.0, 0.01),
            (Variant::named("fused-ops"), 8.0, 0.01),
        ]);
        assert_eq!(verdict.best, Some(Variant::named("compile")));
        assert!(
            verdict
                .comparisons
                .iter()
                .all(|c| c.outcome == Outcome::Faster)
        );
        assert!(
            verdict.summary.starts_with("torch.compile is 2.0"),
            "{}",
            verdict.summary
        );
    }

    #[test]
    fn a_certain_gain_of_one_percent_is_not_a_claim() {
        let verdict = judged(&[
            (Variant::EAGER, 10.1, 0.0001),
            (Variant::CONTROL, 10.1, 0.0001),
            (Variant::named("compile"), 10.0, 0.0001),
        ]);
        assert_eq!(verdict.comparisons[0].outcome, Outcome::Same);
        assert_eq!(verdict.best, None);
    }

    #[test]
    fn what_eager_does_to_itself_is_no_gain_for_others() {
        let noisy_control = judged(&[
            (Variant::EAGER, 10.0, 0.001),
            (Variant::CONTROL, 8.0, 0.001),
            (Variant::named("compile"), 9.0, 0.001),
        ]);
        assert_eq!(noisy_control.comparisons[0].outcome, Outcome::Ambiguous);
        let uneasy_control = judged(&[
            (Variant::EAGER, 10.0, 0.001),
            (Variant::CONTROL, 9.4, 0.001),
            (Variant::named("compile"), 9.6, 0.001),
        ]);
        assert_eq!(uneasy_control.comparisons[0].outcome, Outcome::Same);
        let quiet_control = judged(&[
            (Variant::EAGER, 10.0, 0.001),
            (Variant::CONTROL, 10.0, 0.001),
            (Variant::named("compile"), 9.0, 0.001),
        ]);
        assert_eq!(quiet_control.comparisons[0].outcome, Outcome::Faster);
    }

    #[test]
    fn a_loss_is_slower_and_a_blur_is_ambiguous() {
        let verdict = judged(&[
            (Variant::EAGER, 10.0, 0.01),
            (Variant::CONTROL, 10.0, 0.01),
            (Variant::named("compile"), 20.0, 0.01),
            (Variant::named("model-new"), 9.6, 0.4),
        ]);
        let outcomes: Vec<Outcome> = verdict.comparisons.iter().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [Outcome::Slower, Outcome::Ambiguous]);
        assert!(
            verdict.summary.contains("slower: torch.compile"),
            "{}",
            verdict.summary
        );
    }

    #[test]
    fn what_was_asked_for_and_not_timed_is_named() {
        let alone = judged(&[(Variant::EAGER, 10.0, 0.01), (Variant::CONTROL, 10.0, 0.01)]);
        assert_eq!(
            alone.summary,
            "Only eager could be timed. The table says why these could not: \
             torch.compile, ModelNew, Fused ops."
        );
    }

    #[test]
    fn what_is_under_the_roofline_is_impossible_and_no_record() {
        let mut samples = samples(&[
            (Variant::EAGER, 10.0, 0.01),
            (Variant::CONTROL, 10.0, 0.01),
            (Variant::named("compile"), 5.0, 0.01),
            (Variant::named("model-new"), 0.1, 0.01),
        ]);
        samples.set_floor(1.0);
        let judged = verdict(&samples).expect("eager was measured");
        let outcomes: Vec<Outcome> = judged.comparisons.iter().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [Outcome::Faster, Outcome::Impossible]);
        assert_eq!(judged.best, Some(Variant::named("compile")));
        assert!(
            judged.summary.contains("; impossible: ModelNew ("),
            "{}",
            judged.summary
        );

        samples.set_floor(11.0);
        let judged = verdict(&samples).expect("eager was measured");
        assert_eq!(
            judged.best,
            Some(Variant::named("model-new")),
            "eager is under this floor"
        );
    }

    #[test]
    fn without_eager_there_is_no_verdict() {
        assert_eq!(
            verdict(&samples(&[(Variant::named("compile"), 1.0, 0.0)])),
            None
        );
        let alone = judged(&[(Variant::EAGER, 1.0, 0.0)]);
        assert!(alone.summary.starts_with("Only eager"), "{}", alone.summary);
    }
}
