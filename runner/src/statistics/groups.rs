//! Detects times that fall into two groups: disturbed and undisturbed calls. The median then depends
//! on how many were disturbed.

/// Minimum factor between the medians of the groups.
const MIN_FACTOR: f64 = 1.5;
/// Minimum distance between the means of the groups, in units of the larger deviation, of logarithms. The halves of a uniform distribution reach
/// 3.5.
const MIN_DISTANCE: f64 = 4.0;
/// Minimum gap between the groups, in units of the larger deviation: a few samples of a wide distribution may be close
/// together by chance.
const MIN_GAP: f64 = 2.0;
/// Minimum share of the samples in each group. A disturbance only adds time, so a few quick calls show how long the
/// others would have taken. Slow calls matter once the median may be one of them.
const MIN_QUICK: f64 = 0.10;
const MIN_SLOW: f64 = 0.25;

/// The medians of two groups of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Groups {
    pub(super) quick: f64,
    pub(super) slow: f64,
}

impl Groups {
    /// The ratio of the medians.
    pub(super) fn factor(self) -> f64 {
        self.slow / self.quick
    }
}

/// The two groups that samples fall into, if they do. All samples must be positive.
pub(super) fn two_groups(samples: &[f64]) -> Option<Groups> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let logs: Vec<f64> = sorted.iter().map(|ms| ms.ln()).collect();
    let n = logs.len();
    let least = |share: f64| ((share * n as f64).ceil() as usize).max(2);
    let most_quick = n.checked_sub(least(MIN_SLOW))?;
    // The split with the largest variance between its sides (Otsu's method).
    let between = |at: usize| {
        let distance = mean(&logs[at..]) - mean(&logs[..at]);
        (at * (n - at)) as f64 * distance * distance
    };
    let splits = least(MIN_QUICK)..=most_quick;
    let at = splits.max_by(|&a, &b| between(a).total_cmp(&between(b)))?;
    let (quick, slow) = logs.split_at(at);
    let distance = mean(slow) - mean(quick);
    let deviation = variance(quick).max(variance(slow)).sqrt();
    let gap = logs[at] - logs[at - 1];
    let groups = Groups {
        quick: sorted[at / 2],
        slow: sorted[at + (n - at) / 2],
    };
    let are_apart = gap >= MIN_GAP * deviation && distance >= MIN_DISTANCE * deviation;
    (are_apart && groups.factor() >= MIN_FACTOR).then_some(groups)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2));
    squares.sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    fn noisy(center: f64, spread: f64, count: usize, random: &mut Random) -> Vec<f64> {
        let mut draw = || (random.below(2001) as f64 - 1000.0) / 1000.0;
        (0..count)
            .map(|_| center * (1.0 + spread * draw()))
            .collect()
    }

    #[test]
    fn disturbed_and_undisturbed_calls_form_two_groups() {
        let mut random = Random::seeded(3);
        for quick in [4, 10, 16] {
            let mut times = noisy(0.2, 0.05, quick, &mut random);
            times.extend(noisy(45.0, 0.6, 30 - quick, &mut random));
            let groups = two_groups(&times).expect("two groups");
            assert!((0.19..0.21).contains(&groups.quick), "{groups:?}");
            assert!((18.0..72.0).contains(&groups.slow), "{groups:?}");
        }
    }

    #[test]
    fn wide_or_skewed_distribution_is_one_group() {
        let mut random = Random::seeded(5);
        for _ in 0..200 {
            assert_eq!(two_groups(&noisy(1.0, 0.02, 100, &mut random)), None);
            assert_eq!(two_groups(&noisy(1.0, 0.6, 40, &mut random)), None);
            // A long tail: most calls are near the shortest time.
            let tail = |u: usize| 1.0 - (u as f64 + 1.0).ln() + 1001_f64.ln();
            let skewed: Vec<f64> = (0..100).map(|_| tail(random.below(1000))).collect();
            assert_eq!(two_groups(&skewed), None, "{skewed:?}");
        }
    }

    #[test]
    fn few_slow_calls_form_no_group() {
        let mut random = Random::seeded(7);
        let mut times = noisy(1.0, 0.02, 80, &mut random);
        times.extend(noisy(5.0, 0.02, 12, &mut random));
        assert_eq!(two_groups(&times), None);
    }

    #[test]
    fn few_or_equal_samples_form_no_groups() {
        for times in [&[][..], &[1.0], &[1.0, 9.0], &[2.0; 40]] {
            assert_eq!(two_groups(times), None);
        }
    }
}
