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
        # Only the part after everything that ended so far is new; it may be empty.
        total += max(stop - max(kernel.start, end), 0.0)
        # end: overlap
        end = max(end, stop)
    return total


def shares(kernels: Sequence[Kernel]) -> dict[str, float]:
    """Share of each kind in the span of the trace, and the share without any kernel as "gap"."""
    # hole: span
    # A trace does not start at 0, and the kernel that starts last may not end last.
    span = max(k.start + k.duration for k in kernels) - min(k.start for k in kernels)
    # end: span
    found: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        found[kernel.kind] += kernel.duration / span
    # hole: gap
    # Not 1 minus the sum of the kinds: concurrent kernels are counted twice there.
    found["gap"] = 1 - busy(kernels) / span
    # end: gap
    return dict(found)
