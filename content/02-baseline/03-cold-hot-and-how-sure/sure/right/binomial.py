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
    low, outside = 0, 0.5**n
    while outside + math.comb(n, low + 1) * 0.5**n <= 0.025:
        low += 1
        outside += math.comb(n, low) * 0.5**n
    high = n - 1 - low
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
