"""How sure is a timing, and which difference counts?"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Median:
    """A median with its 95 % confidence interval."""

    low: float
    value: float
    high: float


def interval(samples: Sequence[float]) -> Median:
    """The median of at least ten samples. The interval makes no assumption about their distribution."""
    ordered = sorted(samples)
    n = len(ordered)
    # hole: interval
    # Each sample is below the true median with probability 1/2, so the number of samples below it
    # is binomial: mean n / 2, standard deviation sqrt(n) / 2. 95 % are within 1.96 of those.
    reach = 1.96 * math.sqrt(n) / 2
    low, high = max(math.floor(n / 2 - reach) - 1, 0), min(math.ceil(n / 2 + reach), n - 1)
    # end: interval
    return Median(ordered[low], statistics.median(ordered), ordered[high])


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that is not exceeded by `share` of the samples: 0.95 for the P95."""
    # hole: percentile
    # A sample that was measured, not a value between two: a tail has gaps.
    return sorted(samples)[max(math.ceil(share * len(samples)) - 1, 0)]
    # end: percentile


def verdict(baseline: Median, control: Median, candidate: Median) -> str:
    """FASTER, SLOWER, SAME or AMBIGUOUS. `control` is the baseline, measured a second time."""
    # hole: noise
    # The largest ratio that the two measurements of the same code allow.
    noise = max(baseline.high, control.high) / min(baseline.low, control.low)
    # end: noise
    # hole: verdict
    if candidate.high * noise < baseline.low:
        return "FASTER"
    if candidate.low > baseline.high * noise:
        return "SLOWER"
    # SAME is a claim, too: even the ends that are farthest apart are close.
    if max(candidate.high, baseline.high) <= 1.1 * min(candidate.low, baseline.low):
        return "SAME"
    # end: verdict
    return "AMBIGUOUS"
