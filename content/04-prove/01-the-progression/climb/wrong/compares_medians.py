# fails: case_noise, case_page
# message: Two medians of the same code differ too. A step costs time only if its whole interval is above the interval below.
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
        try:
            # On top of the steps that stay, because that is the version that you would ship.
            timing = measure([*kept, step])
        except RefusedError as error:
            # One step that fails says nothing about the next one.
            rows.append(Row(step, None, str(error)))
            continue
        # end: measure
        speedup = baseline.median / timing.median
        # hole: decide
        # Only a difference that the intervals show counts. It is relative to the version below.
        if timing.median > below.median:
            rows.append(Row(step, speedup, "costs time"))
            continue
        # end: decide
        rows.append(Row(step, speedup))
        # hole: stay
        kept.append(step)
        below = timing
        # end: stay
    return rows, kept
