"""Climbs the ladder: tries one step after the other and decides which ones stay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """A median with its 95 % confidence interval, in milliseconds."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Row:
    """A row of the progression."""

    name: str
    speedup: float | None  # over the baseline; None if the step was not timed
    remark: str = ""  # why the step is left out


class RefusedError(Exception):
    """The step cannot run here, or the precision gate rejected it. The message states why."""


def climb(
    steps: Sequence[str], measure: Callable[[list[str]], Timing]
) -> tuple[list[Row], list[str]]:
    """Rows of the progression, and the steps that stay.

    `measure(names)` times the model with these steps; it is slow, and may raise `RefusedError`.
    """
    baseline = measure([])
    below, kept = baseline, []
    rows = [Row("baseline", 1.0)]
    for step in steps:
        # hole: measure
        timing = ...
        # end: measure
        speedup = baseline.median / timing.median
        # hole: decide
        ...
        # end: decide
        rows.append(Row(step, speedup))
        # hole: stay
        ...
        # end: stay
    return rows, kept
