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
    pairs = set(baseline.conditions.items()) ^ set(current.conditions.items())
    different = sorted({name for name, _ in pairs})
    # Not a failure of the code: such a comparison has no answer.
    if different:
        raise NotComparableError(f"different {', '.join(different)}")
    if min(baseline.samples, current.samples) < MIN_SAMPLES:
        raise NotComparableError(f"fewer than {MIN_SAMPLES} samples")
    # end: comparable
    reasons = []
    # hole: speedup
    # The slow end: what the speed-up is at least, if both intervals are right.
    low = baseline.low_ms / current.high_ms
    # end: speedup
    if low < min_speedup:
        speedup = baseline.median_ms / current.median_ms
        reasons.append(f"speed-up {speedup:.2f}, at least {low:.2f}; {min_speedup} is required")
    # hole: wrong
    # A version that trains less is faster. So the gate looks at what it computes, too.
    if current.without_gradient:
        reasons.append(f"no gradient: {', '.join(current.without_gradient)}")
    if not abs(current.last_loss / baseline.last_loss - 1) <= tolerance:
        reasons.append(f"last loss {current.last_loss:.4f}, the baseline's {baseline.last_loss:.4f}")
    if current.peak_bytes > max_growth * baseline.peak_bytes:
        reasons.append(f"peak memory grew by {current.peak_bytes / baseline.peak_bytes - 1:.0%}")
    # end: wrong
    return reasons
