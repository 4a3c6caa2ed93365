//! The bootstrap confidence interval of a speed-up, resampled by rounds.

use super::{Rounds, doubt::MIN_ROUNDS, median, random::Random};

/// Resamples per interval. The ends then vary by much less than the width.
const DRAWS: usize = 2000;
/// Fixed, so that a verdict is reproducible.
const SEED: u64 = 0x6869_7077_6172_6421;

/// The 95 % interval of `median(base) / median(other)`.
///
/// Resamples whole rounds, the same ones for both, because samples within a round share the
/// device's temperature and clocks, and are not independent. For a job that was too short for
/// enough rounds, single samples are resampled instead.
pub(super) fn ratio_interval(base: &Rounds, other: &Rounds) -> (f64, f64) {
    let mut random = Random::seeded(SEED);
    let shared = base
        .keys()
        .filter(|round| other.contains_key(round))
        .count();
    let mut ratios = if shared >= MIN_ROUNDS {
        draw_rounds(base, other, &mut random)
    } else {
        draw_samples(base, other, &mut random)
    };
    ratios.sort_by(f64::total_cmp);
    (
        super::quantile(&ratios, 0.025),
        super::quantile(&ratios, 0.975),
    )
}

fn draw_rounds(base: &Rounds, other: &Rounds, random: &mut Random) -> Vec<f64> {
    let mut rounds: Vec<u32> = base.keys().chain(other.keys()).copied().collect();
    rounds.sort_unstable();
    rounds.dedup();
    let (mut of_base, mut of_other) = (Vec::new(), Vec::new());
    let mut ratios = Vec::with_capacity(DRAWS);
    while ratios.len() < DRAWS {
        of_base.clear();
        of_other.clear();
        for _ in 0..rounds.len() {
            let round = rounds[random.below(rounds.len())];
            of_base.extend(base.get(&round).into_iter().flatten());
            of_other.extend(other.get(&round).into_iter().flatten());
        }
        // A variant that ended early may be in none of the drawn rounds: draw again.
        if !of_base.is_empty() && !of_other.is_empty() {
            ratios.push(median(&mut of_base) / median(&mut of_other));
        }
    }
    ratios
}

fn draw_samples(base: &Rounds, other: &Rounds, random: &mut Random) -> Vec<f64> {
    let base: Vec<f64> = base.values().flatten().copied().collect();
    let other: Vec<f64> = other.values().flatten().copied().collect();
    let mut draw = |samples: &[f64]| {
        let mut drawn: Vec<f64> = (0..samples.len())
            .map(|_| samples[random.below(samples.len())])
            .collect();
        median(&mut drawn)
    };
    (0..DRAWS).map(|_| draw(&base) / draw(&other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rounds: usize, center: f64, random: &mut Random) -> Rounds {
        (0..rounds as u32)
            .map(|round| {
                let noise = |random: &mut Random| (random.below(2001) as f64 - 1000.0) / 1000.0;
                let samples = (0..20)
                    .map(|_| center + 0.05 * center * noise(random))
                    .collect();
                (round, samples)
            })
            .collect()
    }

    #[test]
    fn interval_contains_the_true_ratio_and_narrows_with_more_rounds() {
        let mut random = Random::seeded(3);
        let width = |n: usize, random: &mut Random| {
            let (low, high) = ratio_interval(&rounds(n, 20.0, random), &rounds(n, 10.0, random));
            assert!(low < 2.02 && 1.98 < high, "{low}..{high}");
            high - low
        };
        let few = width(5, &mut random);
        let many = width(40, &mut random);
        assert!(many < few, "{many} < {few}");
    }

    #[test]
    fn shared_drift_cancels() {
        // The device slows down by half from the first round to the last; the ratio stays 2.
        let slowing = |center: f64| -> Rounds {
            let rounds = 0..12_u32;
            rounds
                .map(|r| (r, vec![center * (1.0 + 0.04 * f64::from(r)); 9]))
                .collect()
        };
        let (low, high) = ratio_interval(&slowing(20.0), &slowing(10.0));
        assert!(high - low < 1e-9, "{low}..{high}");
    }

    #[test]
    fn single_round_has_a_reproducible_interval() {
        let mut random = Random::seeded(5);
        let (base, other) = (rounds(1, 10.0, &mut random), rounds(1, 10.0, &mut random));
        let (low, high) = ratio_interval(&base, &other);
        assert!(low < high);
        assert_eq!(
            (low, high),
            ratio_interval(&base, &other),
            "and is repeatable"
        );
    }
}
