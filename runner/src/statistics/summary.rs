//! The statistics of one variant's samples.

use super::quantile;
use hipward_protocol::{Stats, StopReason};

/// Probability outside of a 95 % interval, at each end.
const TAIL: f64 = 0.025;

/// The statistics of a variant. None if it has no samples.
pub(crate) fn summarize(samples: &[f64], stop: StopReason, dropped: usize) -> Option<Stats> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let n = sorted.len();
    let median = quantile(&sorted, 0.5);
    let spread = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
    let outside = ranks_outside_interval(n);
    Some(Stats {
        n,
        dropped,
        median,
        mean: sorted.iter().sum::<f64>() / n as f64,
        p5: quantile(&sorted, 0.05),
        p20: quantile(&sorted, 0.20),
        p80: quantile(&sorted, 0.80),
        p95: quantile(&sorted, 0.95),
        min,
        max,
        ci_low: sorted[outside],
        ci_high: sorted[n - 1 - outside],
        stop,
        wide_spread: spread > 0.1 * median,
        floor_share: None,
    })
}

/// Number of sorted samples outside the median's interval at each end.
///
/// The number of samples below the true median is binomial with p = ½, whatever the distribution
/// of the samples. So the interval between two order statistics is exact: as many ranks are excluded
/// at each end as keep the probability of missing below 2.5 % there. With fewer than 6 samples no rank can be
/// excluded, and the interval from the smallest to the largest covers less than 95 %.
fn ranks_outside_interval(n: usize) -> usize {
    // In logarithms: 2⁻ⁿ is 0 in floating point from n = 1075 on.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    let mut outside = 0;
    while tail <= TAIL && outside + 1 < n.div_ceil(2) {
        outside += 1;
        log_term += ((n - outside + 1) as f64 / outside as f64).ln();
        tail += log_term.exp();
    }
    // The last rank made the tail too large.
    if tail > TAIL {
        outside.saturating_sub(1)
    } else {
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[test]
    fn interval_ranks_equal_published_tables() {
        // 1-based rank of the lower end in tables of the sign test's interval, minus one.
        for (n, rank) in [
            (6, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (20, 6),
            (25, 8),
            (30, 10),
            (50, 18),
            (100, 40),
        ] {
            assert_eq!(ranks_outside_interval(n) + 1, rank, "n = {n}");
        }
        // 500 − 0.98·√1000, by the normal approximation.
        assert_eq!(ranks_outside_interval(1000), 468);
    }

    #[test]
    fn ranks_are_valid_for_tiny_and_huge_sample_counts() {
        for n in [1, 2, 3, 5, 1074, 1075, 5000] {
            let outside = ranks_outside_interval(n);
            assert!(outside <= n - 1 - outside, "n = {n}");
        }
    }

    #[test]
    fn interval_covers_the_true_median_at_the_nominal_rate() {
        let mut random = Random::seeded(11);
        let trials = 2000;
        let covered = (0..trials)
            .filter(|_| {
                // Squares of a uniform variable: skewed, with the median at 250 000.
                let samples: Vec<f64> = (0..40)
                    .map(|_| random.below(1000) as f64)
                    .map(|x| x * x)
                    .collect();
                let stats = summarize(&samples, StopReason::SampleCap, 0).expect("has samples");
                stats.ci_low <= 250_000.0 && 250_000.0 <= stats.ci_high
            })
            .count();
        let share = covered as f64 / f64::from(trials);
        assert!((0.94..0.99).contains(&share), "{share}");
    }

    #[test]
    fn statistics_are_ordered_and_wide_spread_is_detected() {
        let steady: Vec<f64> = (0..100).map(|i| 10.0 + f64::from(i) * 0.001).collect();
        let stats = summarize(&steady, StopReason::Converged, 3).expect("has samples");
        let order = [
            stats.min,
            stats.p5,
            stats.p20,
            stats.ci_low,
            stats.median,
            stats.ci_high,
            stats.p80,
            stats.p95,
            stats.max,
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert!(!stats.wide_spread);
        assert_eq!((stats.n, stats.dropped), (100, 3));

        let spread: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(
            summarize(&spread, StopReason::TimeCap, 0)
                .expect("has samples")
                .wide_spread
        );
        assert_eq!(summarize(&[], StopReason::TimeCap, 0), None);
    }
}
