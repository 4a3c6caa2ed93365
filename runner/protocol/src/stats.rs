//! Types of the statistics, which the runner computes (`runner/src/statistics`).

use crate::{HostLoad, VariantId};
use serde::{Deserialize, Serialize};

/// Why sampling of a variant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The relative half-width of the median's confidence interval fell to 1 % or less.
    Converged,
    /// 1000 samples were taken before that.
    SampleCap,
    /// The time cap was reached before that (by default 15 seconds).
    TimeCap,
    /// The job's time limit was reached before that.
    TimeLimit,
}

/// One variant's timings. All times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// Number of samples, without dropped ones.
    pub n: usize,
    /// Number of samples dropped because the device was throttled.
    #[serde(default)]
    pub dropped: usize,
    /// Median.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// 5th percentile.
    pub p5: f64,
    /// 20th percentile.
    pub p20: f64,
    /// 80th percentile.
    pub p80: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    /// 95 % confidence interval of the median, lower end.
    pub ci_low: f64,
    /// 95 % confidence interval of the median, upper end.
    pub ci_high: f64,
    /// Why sampling ended.
    pub stop: StopReason,
    /// Whether the interquartile range is over 10 % of the median.
    pub wide_spread: bool,
    /// The roofline's floor divided by the median. 1 is as fast as the device can be; more is impossible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_share: Option<f64>,
}

/// The conclusion from the confidence interval of a speed-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// The whole interval lies above 1 and above the noise floor.
    Faster,
    /// The whole interval lies below 1 and below the noise floor.
    Slower,
    /// The interval lies within ±2 % of 1, or within the noise floor.
    Same,
    /// The interval is too wide for a conclusion.
    Ambiguous,
    /// Faster than the device can read and write the data: a mistake or a manipulation.
    Impossible,
}

/// Comparison of a variant with eager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// The variant.
    pub variant: VariantId,
    /// Median of eager over median of the variant: 2 means twice as fast.
    pub speedup: f64,
    /// 95 % bootstrap interval over rounds, lower end.
    pub ci_low: f64,
    /// Upper end.
    pub ci_high: f64,
    /// The conclusion from the interval.
    pub outcome: Outcome,
    /// Why the outcome is AMBIGUOUS regardless of the interval: too few samples, a busy host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of a finished job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// Each measured variant except eager and the control, in ladder order.
    pub comparisons: Vec<Comparison>,
    /// Eager against itself: the noise floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Comparison>,
    /// The fastest variant whose outcome is FASTER, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<VariantId>,
    /// The result in one sentence, with its caveats.
    pub summary: String,
    /// The load of the host while the variants were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
}
