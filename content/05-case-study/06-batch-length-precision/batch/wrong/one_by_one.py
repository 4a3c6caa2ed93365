# fails: case_runs
# message: The result is right, but each run is slow: halve the gap instead of trying every size.
"""Finds the best batch size by running candidates. Memory and time of a batch are not predicted."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """A batch size that was run."""

    batch_size: int
    step_ms: float
    memory_mib: float

    @property
    def samples_per_s(self) -> float:
        return self.batch_size / self.step_ms * 1e3


class OutOfMemory(Exception):
    """The device has not enough memory for the batch."""


def fitting(run: Callable[[int], Candidate], limit_mib: float, largest: int) -> list[Candidate]:
    """The candidates that fit, smallest first. Each run is slow, so no batch size is run twice.

    Args:
        run: Runs a batch size, or raises OutOfMemory.
        limit_mib: The most memory that a candidate may take.
        largest: The largest batch size to try.
    """
    fits: list[Candidate] = []

    def fits_in(size: int) -> bool:
        # hole: attempt
        try:
            candidate = run(size)
        except OutOfMemory:
            return False
        # It ran, but leaves too little for everything else that needs memory.
        if candidate.memory_mib > limit_mib:
            return False
        fits.append(candidate)
        return True
        # end: attempt

    size = 1
    while size <= largest and fits_in(size):
        size *= 2
    # The largest size that fits, and the smallest that does not or may not be tried.
    low, high = size // 2, min(size, largest + 1)
    # hole: halve
    while low and low + 1 < high and fits_in(low + 1):
        low += 1
    # end: halve
    return sorted(fits, key=lambda candidate: candidate.batch_size)


def choose(fits: list[Candidate], slack: float = 0.03) -> Candidate:
    """The smallest batch whose throughput is at most `slack` below the best one's.

    Above it, more memory and a longer step buy nothing that can be measured.
    """
    # hole: choose
    best = max(candidate.samples_per_s for candidate in fits)
    good = [candidate for candidate in fits if candidate.samples_per_s >= (1 - slack) * best]
    return min(good, key=lambda candidate: candidate.batch_size)
    # end: choose
