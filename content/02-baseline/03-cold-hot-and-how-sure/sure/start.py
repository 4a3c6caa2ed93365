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
    low, high = ..., ...
    # end: interval
    return Median(ordered[low], statistics.median(ordered), ordered[high])


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that is not exceeded by `share` of the samples: 0.95 for the P95."""
    # hole: percentile
    return ...
    # end: percentile


def verdict(baseline: Median, control: Median, candidate: Median) -> str:
    """FASTER, SLOWER, SAME or AMBIGUOUS. `control` is the baseline, measured a second time."""
    # hole: noise
    noise = ...
    # end: noise
    # hole: verdict
    ...
    # end: verdict
    return "AMBIGUOUS"
