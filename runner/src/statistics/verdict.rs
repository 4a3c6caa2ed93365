//! The verdict of a job: comparisons and a summary. Based on
//! confidence intervals, never on a single number, and only where no reason speaks against them.

use super::{
    Rounds, Samples,
    bootstrap::ratio_interval,
    doubt::{noise_floor, of_the_control, of_the_host, of_the_times, too_few},
    median,
    sentence::sentence,
};
use hipward_protocol::{Comparison, HostLoad, Outcome, VariantId, Verdict};

/// Differences under 2 % count as SAME.
const MIN_SAME: f64 = 1.02;
/// Differences over 10 % never count as SAME, however much eager differs from itself.
pub(super) const MAX_SAME: f64 = 1.10;

/// What a verdict depends on besides the samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// The variants ran on the host's processor, where any other work disturbs them.
    pub(crate) on_cpu: bool,
    /// How busy the host was while they were timed.
    pub(crate) load: Option<HostLoad>,
}

/// Compares every measured variant with eager; nothing if eager was not measured.
pub(crate) fn verdict(samples: &Samples, setting: Setting) -> Option<Verdict> {
    let eager = samples.rounds(&VariantId::EAGER)?;
    // A floor above eager's own time is wrong, and is not used for others.
    let shortest = samples.floor_ms().filter(|floor| *floor < overall(eager));
    // The control is eager too, so the noise floor does not apply to it.
    let control = samples.rounds(&VariantId::CONTROL).map(|control| {
        let compared = comparison(&VariantId::CONTROL, eager, control, f64::INFINITY);
        doubted(compared, too_few(eager, control))
    });
    let floor = control.as_ref().map_or(1.0, noise_floor);
    let busy = setting.load.as_ref().filter(|_| setting.on_cpu);
    let shared = of_the_host(busy).or_else(|| {
        let is_missing = control.is_none() && samples.announces(&VariantId::CONTROL);
        is_missing
            .then(|| "the control was not timed, so eager's own noise is not known".to_owned())
    });
    let compare = |variant: &VariantId| {
        let other = samples.rounds(variant)?;
        let mut compared = comparison(variant, eager, other, floor);
        if let Some(reason) = too_few(eager, other) {
            return Some(doubted(compared, Some(reason)));
        }
        if shortest.is_some_and(|shortest| overall(other) < shortest) {
            compared.outcome = Outcome::Impossible;
            return Some(compared);
        }
        let doubt = shared
            .clone()
            .or_else(|| of_the_control(control.as_ref(), &compared))
            .or_else(|| of_the_times(eager, other, compared.speedup));
        Some(doubted(compared, doubt))
    };
    let comparisons: Vec<Comparison> = samples
        .timed()
        .into_iter()
        .filter(|&variant| *variant != VariantId::EAGER && *variant != VariantId::CONTROL)
        .filter_map(compare)
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
        load: setting.load,
    })
}

/// A comparison that is AMBIGUOUS for a reason.
fn doubted(comparison: Comparison, reason: Option<String>) -> Comparison {
    match reason {
        None => comparison,
        Some(_) => Comparison {
            outcome: Outcome::Ambiguous,
            reason,
            ..comparison
        },
    }
}

/// The median of all rounds.
fn overall(rounds: &Rounds) -> f64 {
    let mut all: Vec<f64> = rounds.values().flatten().copied().collect();
    median(&mut all)
}

fn comparison(variant: &VariantId, eager: &Rounds, other: &Rounds, floor: f64) -> Comparison {
    let (ci_low, ci_high) = ratio_interval(eager, other);
    Comparison {
        variant: variant.clone(),
        speedup: overall(eager) / overall(other),
        ci_low,
        ci_high,
        outcome: outcome(ci_low, ci_high, floor),
        reason: None,
    }
}

/// SAME comes first: a difference that is certain but under 2 % is still SAME.
fn outcome(low: f64, high: f64, floor: f64) -> Outcome {
    let same = floor.clamp(MIN_SAME, MAX_SAME);
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

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::Variant;

    /// Variants as a harness announces them, not sorted by name.
    fn ladder() -> Vec<Variant> {
        [
            ("eager", "Eager"),
            ("eager-control", "Eager again (control)"),
            ("compile", "torch.compile"),
            ("model-new", "ModelNew"),
            ("fused-ops", "Fused ops"),
        ]
        .map(|(id, label)| Variant {
            id: VariantId::named(id),
            label: label.to_owned(),
            about: String::new(),
        })
        .into()
    }

    /// Twelve rounds of samples that spread by `noise` around `center`.
    fn samples(variants: &[(VariantId, f64, f64)]) -> Samples {
        let mut samples = Samples::default();
        samples.announce(&ladder());
        for (nth, (variant, center, noise)) in variants.iter().enumerate() {
            for round in 0..12_u32 {
                let swing = f64::from((round * 7 + nth as u32 * 5) % 11) / 5.0 - 1.0;
                let around = center * (1.0 + noise * swing);
                samples.add(variant, round, &[around * 0.999, around, around * 1.001]);
            }
        }
        samples
    }

    fn judged(variants: &[(VariantId, f64, f64)]) -> Verdict {
        verdict(&samples(variants), Setting::default()).expect("eager was measured")
    }

    #[test]
    fn timed_variants_follow_the_announced_order_with_unknown_ones_last() {
        let verdict = judged(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::named("another"), 8.0, 0.01),
            (VariantId::named("fused-ops"), 8.0, 0.01),
            (VariantId::named("model-new"), 8.0, 0.01),
        ]);
        let names: Vec<&str> = verdict
            .comparisons
            .iter()
            .map(|comparison| comparison.variant.name())
            .collect();
        assert_eq!(names, ["model-new", "fused-ops", "another"]);
    }

    #[test]
    fn clear_gain_is_faster_and_named() {
        let verdict = judged(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 5.0, 0.01),
            (VariantId::named("fused-ops"), 8.0, 0.01),
        ]);
        assert_eq!(verdict.best, Some(VariantId::named("compile")));
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
    fn certain_gain_of_one_percent_is_same() {
        let verdict = judged(&[
            (VariantId::EAGER, 10.1, 0.0001),
            (VariantId::CONTROL, 10.1, 0.0001),
            (VariantId::named("compile"), 10.0, 0.0001),
        ]);
        assert_eq!(verdict.comparisons[0].outcome, Outcome::Same);
        assert_eq!(verdict.best, None);
    }

    #[test]
    fn difference_within_the_noise_floor_is_not_faster() {
        let noisy_control = judged(&[
            (VariantId::EAGER, 10.0, 0.001),
            (VariantId::CONTROL, 8.0, 0.001),
            (VariantId::named("compile"), 9.0, 0.001),
        ]);
        assert_eq!(noisy_control.comparisons[0].outcome, Outcome::Ambiguous);
        let uneasy_control = judged(&[
            (VariantId::EAGER, 10.0, 0.001),
            (VariantId::CONTROL, 9.4, 0.001),
            (VariantId::named("compile"), 9.6, 0.001),
        ]);
        assert_eq!(uneasy_control.comparisons[0].outcome, Outcome::Same);
        let quiet_control = judged(&[
            (VariantId::EAGER, 10.0, 0.001),
            (VariantId::CONTROL, 10.0, 0.001),
            (VariantId::named("compile"), 9.0, 0.001),
        ]);
        assert_eq!(quiet_control.comparisons[0].outcome, Outcome::Faster);
    }

    #[test]
    fn loss_is_slower_and_wide_interval_is_ambiguous() {
        let verdict = judged(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 20.0, 0.01),
            (VariantId::named("model-new"), 9.6, 0.4),
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
    fn untimed_variants_are_named() {
        let alone = judged(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
        ]);
        assert_eq!(
            alone.summary,
            "Only eager could be timed. The table says why these could not: \
             torch.compile, ModelNew, Fused ops."
        );
    }

    #[test]
    fn time_under_the_roofline_is_impossible() {
        let mut samples = samples(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 5.0, 0.01),
            (VariantId::named("model-new"), 0.1, 0.01),
        ]);
        samples.set_floor(1.0);
        let judged = verdict(&samples, Setting::default()).expect("eager was measured");
        let outcomes: Vec<Outcome> = judged.comparisons.iter().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [Outcome::Faster, Outcome::Impossible]);
        assert_eq!(judged.best, Some(VariantId::named("compile")));
        assert!(
            judged.summary.contains("; impossible: ModelNew ("),
            "{}",
            judged.summary
        );

        samples.set_floor(11.0);
        let judged = verdict(&samples, Setting::default()).expect("eager was measured");
        assert_eq!(
            judged.best,
            Some(VariantId::named("model-new")),
            "eager is under this floor"
        );
    }

    #[test]
    fn no_verdict_without_eager() {
        assert_eq!(
            verdict(
                &samples(&[(VariantId::named("compile"), 1.0, 0.0)]),
                Setting::default()
            ),
            None
        );
        let alone = judged(&[(VariantId::EAGER, 1.0, 0.0)]);
        assert!(alone.summary.starts_with("Only eager"), "{}", alone.summary);
    }

    /// Samples as they were recorded, a round for each `per_round`.
    fn recorded(variants: &[(VariantId, Vec<f64>)], per_round: usize) -> Samples {
        let mut samples = Samples::default();
        samples.announce(&ladder());
        for (variant, ms) in variants {
            for (round, ms) in (0..).zip(ms.chunks(per_round)) {
                samples.add(variant, round, ms);
            }
        }
        samples
    }

    fn only(samples: &Samples, setting: Setting) -> (Comparison, Verdict) {
        let verdict = verdict(samples, setting).expect("eager was measured");
        (verdict.comparisons[0].clone(), verdict)
    }

    #[test]
    fn excluded_variant_is_not_in_the_verdict() {
        let mut samples = samples(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 8.0, 0.01),
            (VariantId::named("model-new"), 0.1, 0.01),
        ]);
        samples.withdraw(&VariantId::named("model-new"));
        let judged = verdict(&samples, Setting::default()).expect("eager was measured");
        assert_eq!(judged.comparisons.len(), 1);
        assert_eq!(judged.best, Some(VariantId::named("compile")));
        assert!(!judged.summary.contains("ModelNew"), "{}", judged.summary);
        samples.withdraw(&VariantId::EAGER);
        assert_eq!(verdict(&samples, Setting::default()), None);
    }

    #[test]
    fn too_few_samples_are_ambiguous() {
        let steady = |count, ms: f64| vec![ms; count];
        for (eager, rounds, other) in [(6, 1, 33), (33, 1, 6), (9, 1, 40), (40, 20, 40)] {
            let samples = recorded(
                &[
                    (VariantId::EAGER, steady(eager, 45.0)),
                    (VariantId::CONTROL, steady(40, 45.0)),
                    (VariantId::named("model-new"), steady(other, 0.9)),
                ],
                rounds,
            );
            let (compared, judged) = only(&samples, Setting::default());
            assert_eq!(compared.outcome, Outcome::Ambiguous);
            let reason = compared.reason.expect("says why");
            assert!(reason.starts_with("too few samples"), "{reason}");
            assert_eq!(judged.best, None);
            let start = "No verdict; ambiguous: ModelNew (too few samples";
            assert!(judged.summary.starts_with(start), "{}", judged.summary);
        }
        let enough = recorded(
            &[
                (VariantId::EAGER, steady(10, 45.0)),
                (VariantId::CONTROL, steady(10, 45.0)),
                (VariantId::named("model-new"), steady(10, 0.9)),
            ],
            2,
        );
        assert_eq!(only(&enough, Setting::default()).0.outcome, Outcome::Faster);
    }

    /// An honest ModelNew that does three times the work, on a host whose CPUs were taken away now and then for 45 ms:
    /// most calls of eager met that, and few of ModelNew.
    #[test]
    fn disturbed_eager_is_ambiguous() {
        let times = |quick: f64, slow_of_ten: usize| -> Vec<f64> {
            let nth = 0..40_usize;
            nth.map(|n| match (n * 7) % 10 < slow_of_ten {
                true => quick + 44.0 + (n % 5) as f64,
                false => quick * (1.0 + 0.01 * (n % 7) as f64),
            })
            .collect()
        };
        let samples = recorded(
            &[
                (VariantId::EAGER, times(0.2, 8)),
                (VariantId::CONTROL, times(0.2, 8)),
                (VariantId::named("model-new"), times(0.6, 1)),
            ],
            4,
        );
        let (compared, judged) = only(&samples, Setting::default());
        assert!(compared.speedup > 20.0, "{compared:?}");
        assert_eq!(compared.outcome, Outcome::Ambiguous, "{compared:?}");
        assert!(
            judged
                .summary
                .contains("eager's times fall into two groups"),
            "{}",
            judged.summary
        );
    }

    #[test]
    fn busy_host_affects_processor_times_only() {
        let clear = samples(&[
            (VariantId::EAGER, 10.0, 0.01),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 5.0, 0.01),
        ]);
        let setting = |on_cpu, cpu_pressure, others| Setting {
            on_cpu,
            load: Some(HostLoad {
                cpus: 2,
                cpu_pressure: Some(cpu_pressure),
                other_cpu_share: Some(others),
                ..HostLoad::default()
            }),
        };
        let (compared, judged) = only(&clear, setting(true, 0.93, 0.8));
        assert_eq!((compared.outcome, judged.best), (Outcome::Ambiguous, None));
        assert!(
            judged
                .summary
                .starts_with("No verdict; ambiguous: torch.compile (the host was busy"),
            "{}",
            judged.summary
        );
        assert_eq!(judged.load.map(|load| load.cpus), Some(2), "it is kept");
        for quiet in [setting(true, 0.03, 0.02), setting(false, 0.93, 0.8)] {
            assert_eq!(only(&clear, quiet).0.outcome, Outcome::Faster);
        }
    }

    #[test]
    fn control_that_differs_from_eager_is_ambiguous() {
        let (compared, judged) = only(
            &samples(&[
                (VariantId::EAGER, 10.0, 0.01),
                (VariantId::CONTROL, 7.5, 0.01),
                (VariantId::named("compile"), 2.0, 0.01),
            ]),
            Setting::default(),
        );
        assert_eq!((compared.outcome, judged.best), (Outcome::Ambiguous, None));
        let reason = compared.reason.expect("says why");
        assert!(
            reason.starts_with("eager, timed twice, differs from itself by up to 3"),
            "{reason}"
        );
    }

    #[test]
    fn uncertain_control_requires_a_larger_gain() {
        let judged = |ms| {
            judged(&[
                (VariantId::EAGER, 10.0, 0.01),
                (VariantId::CONTROL, 10.0, 0.5),
                (VariantId::named("compile"), ms, 0.01),
            ])
        };
        let clear = judged(2.0);
        let control = clear.control.expect("was timed");
        assert_eq!(control.outcome, Outcome::Ambiguous, "{control:?}");
        assert!(control.ci_low < 1.0 && 1.0 < control.ci_high, "{control:?}");
        assert_eq!(clear.best, Some(VariantId::named("compile")));
        assert!(
            clear
                .summary
                .contains("Read with care: eager, timed twice, differs from itself by up to"),
            "{}",
            clear.summary
        );
        assert_eq!(judged(9.0).comparisons[0].outcome, Outcome::Ambiguous);
    }

    #[test]
    fn missing_control_is_ambiguous() {
        let (compared, _) = only(
            &samples(&[
                (VariantId::EAGER, 10.0, 0.01),
                (VariantId::named("compile"), 2.0, 0.01),
            ]),
            Setting::default(),
        );
        assert_eq!(compared.outcome, Outcome::Ambiguous);
    }

    #[test]
    fn summary_contains_the_caveat() {
        let judged = judged(&[
            (VariantId::EAGER, 10.0, 0.1),
            (VariantId::CONTROL, 10.0, 0.01),
            (VariantId::named("compile"), 2.0, 0.01),
        ]);
        assert_eq!(judged.best, Some(VariantId::named("compile")));
        assert!(
            judged
                .summary
                .ends_with(" Read with care: the times of Eager spread over more than 10 %."),
            "{}",
            judged.summary
        );
    }
}
