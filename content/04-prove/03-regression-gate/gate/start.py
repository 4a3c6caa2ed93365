"""A regression gate: may this version replace the baseline?"""

from dataclasses import dataclass, field

MIN_SAMPLES = 6  # fewer give no 95 % interval of a median


@dataclass(frozen=True)
class Result:
    """A measured version. The interval is the 95 % interval of the median step time."""

    conditions: dict[str, str]  # device, dtype, batch, cache, …
    samples: int
    low_ms: float
    median_ms: float
    high_ms: float
    peak_bytes: int
    last_loss: float
    without_gradient: list[str] = field(default_factory=list)


class NotComparableError(Exception):
    """The two results were measured under different conditions. The message names them."""


def gate(
    baseline: Result, current: Result, min_speedup: float, max_growth: float = 1.1, tolerance: float = 0.05
) -> list[str]:
    """Reasons to refuse `current`; empty if it passes."""
    # hole: comparable
    ...
    # end: comparable
    reasons = []
    # hole: speedup
    low = ...
    # end: speedup
    if low < min_speedup:
        speedup = baseline.median_ms / current.median_ms
        reasons.append(f"speed-up {speedup:.2f}, at least {low:.2f}; {min_speedup} is required")
    # hole: wrong
    ...
    # end: wrong
    return reasons
