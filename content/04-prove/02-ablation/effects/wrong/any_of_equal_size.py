# fails: case_two_of_equal_size
# message: Of two equally simple combinations the faster one counts.
"""What is each switch worth? Reads an ablation: a time for each combination of switches."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """A median with its 95 % confidence interval, in milliseconds."""

    low: float
    median: float
    high: float


Times = dict[frozenset[str], Timing]  # the switches that are on; the empty set is the baseline


def alone(times: Times, switch: str) -> float:
    """Speed-up of a switch over the baseline."""
    return times[frozenset()].median / times[frozenset({switch})].median


def on_top(times: Times, switch: str) -> float:
    """Speed-up of a switch over all others: how much is lost without it."""
    # hole: on-top
    everything = frozenset().union(*times)
    return times[everything - {switch}].median / times[everything].median
    # end: on-top


def average(times: Times, switch: str) -> float:
    """Geometric mean of a switch's speed-up, over all combinations that were measured with and without it."""
    # hole: average
    ratios = [
        times[others].median / times[others | {switch}].median
        for others in times
        # Some combinations are impossible and have no time.
        if switch not in others and others | {switch} in times
    ]
    # Of ratios the geometric mean: 2× and 0.5× cancel out.
    return math.prod(ratios) ** (1 / len(ratios))
    # end: average


def interaction(times: Times, first: str, second: str) -> float:
    """Speed-up of two switches together over the product of their own: 1 if they are independent."""
    # hole: interaction
    both = times[frozenset()].median / times[frozenset({first, second})].median
    return both / (alone(times, first) * alone(times, second))
    # end: interaction


def simplest(times: Times) -> frozenset[str]:
    """Of all combinations whose interval overlaps that of the fastest, the one with the fewest switches.

    If several have as few, the faster one.
    """
    # hole: simplest
    fastest = min(times.values(), key=lambda timing: timing.median)
    # The fastest has the lower median, so overlap depends on these two ends only.
    equal = [names for names, timing in times.items() if timing.low <= fastest.high]
    return min(equal, key=lambda names: (len(names), -times[names].median))
    # end: simplest
