//! Computes statistics and a verdict from samples. Pure and deterministic: the same samples give the
//! same result on every host. Only the runner computes them, not the measured process.

mod bootstrap;
mod doubt;
mod groups;
mod random;
mod sentence;
mod summary;
mod verdict;

pub(crate) use summary::summarize;
pub(crate) use verdict::{Setting, verdict};

use hipward_protocol::{Variant, VariantId, label};
use std::collections::BTreeMap;

/// One variant's samples in milliseconds, by round of the interleaving.
pub(crate) type Rounds = BTreeMap<u32, Vec<f64>>;

/// All samples of a job, and the roofline's floor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    variants: BTreeMap<VariantId, Rounds>,
    ladder: Vec<Variant>,
    floor_ms: Option<f64>,
}

impl Samples {
    /// Adds samples that were taken in one round.
    pub(crate) fn add(&mut self, variant: &VariantId, round: u32, ms: &[f64]) {
        let rounds = self.variants.entry(variant.clone()).or_default();
        rounds.entry(round).or_default().extend_from_slice(ms);
    }

    /// Drops the samples of a variant that was excluded.
    pub(crate) fn withdraw(&mut self, variant: &VariantId) {
        self.variants.remove(variant);
    }

    /// Sets the variants, with their order and labels.
    pub(crate) fn announce(&mut self, variants: &[Variant]) {
        self.ladder = variants.to_vec();
    }

    /// The variants with samples: announced ones in their order, then any others.
    pub(crate) fn timed(&self) -> Vec<&VariantId> {
        let place = |variant: &VariantId| self.ladder.iter().position(|known| known.id == *variant);
        let mut timed: Vec<&VariantId> = self.variants.keys().collect();
        timed.sort_by_key(|variant| place(variant).unwrap_or(usize::MAX));
        timed
    }

    /// Whether a variant was announced.
    pub(crate) fn announces(&self, variant: &VariantId) -> bool {
        self.ladder.iter().any(|known| known.id == *variant)
    }

    /// The labels of the announced variants without samples.
    pub(crate) fn untimed(&self) -> Vec<&str> {
        self.ladder
            .iter()
            .filter(|variant| !self.variants.contains_key(&variant.id))
            .map(|variant| variant.label.as_str())
            .collect()
    }

    /// The label of a variant.
    pub(crate) fn label<'a>(&'a self, variant: &'a VariantId) -> &'a str {
        label(&self.ladder, variant)
    }

    /// The samples of one variant, by round.
    pub(crate) fn rounds(&self, variant: &VariantId) -> Option<&Rounds> {
        self.variants.get(variant)
    }

    /// Sets the roofline's floor, milliseconds.
    pub(crate) fn set_floor(&mut self, ms: f64) {
        self.floor_ms = Some(ms);
    }

    /// The roofline's floor in milliseconds, if it is known.
    pub(crate) fn floor_ms(&self) -> Option<f64> {
        self.floor_ms
    }

    /// The samples of one variant, in the order they were taken.
    pub(crate) fn all(&self, variant: &VariantId) -> Vec<f64> {
        let rounds = self
            .variants
            .get(variant)
            .into_iter()
            .flat_map(BTreeMap::values);
        rounds.flatten().copied().collect()
    }
}

/// The value at fraction `p` of sorted samples, interpolated linearly between neighbours: NumPy's
/// default, definition 7 of Hyndman and Fan.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// The median; reorders its argument.
fn median(samples: &mut [f64]) -> f64 {
    let middle = samples.len() / 2;
    let odd = samples.len() % 2 == 1;
    let (below, &mut upper, _) = samples.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        upper
    } else {
        let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        lower + (upper - lower) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::{random::Random, *};

    #[test]
    fn quantiles_equal_those_of_numpy() {
        // numpy.percentile([15, 20, 35, 40, 50], [5, 20, 40, 50, 95])
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (p, expected) in [
            (0.05, 16.0),
            (0.2, 19.0),
            (0.4, 29.0),
            (0.5, 35.0),
            (0.95, 48.0),
        ] {
            assert!((quantile(&sorted, p) - expected).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn median_equals_the_middle_quantile() {
        let mut random = Random::seeded(7);
        for n in 1..60 {
            let mut samples: Vec<f64> = (0..n).map(|_| random.below(1000) as f64).collect();
            let mut sorted = samples.clone();
            sorted.sort_by(f64::total_cmp);
            assert!((median(&mut samples) - quantile(&sorted, 0.5)).abs() < 1e-9);
        }
    }
}
