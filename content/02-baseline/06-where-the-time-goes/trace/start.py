"""Where did the time go? Reads the kernels of a trace, with times in microseconds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    kind: str
    start: float
    duration: float


def busy(kernels: Sequence[Kernel]) -> float:
    """Time in which at least one kernel runs. Kernels of two streams may run at the same time."""
    total, end = 0.0, float("-inf")
    for kernel in sorted(kernels, key=lambda kernel: kernel.start):
        stop = kernel.start + kernel.duration
        # hole: overlap
        total += ...
        # end: overlap
        end = max(end, stop)
    return total


def shares(kernels: Sequence[Kernel]) -> dict[str, float]:
    """Share of each kind in the span of the trace, and the share without any kernel as "gap"."""
    # hole: span
    span = ...
    # end: span
    found: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        found[kernel.kind] += kernel.duration / span
    # hole: gap
    found["gap"] = ...
    # end: gap
    return dict(found)
