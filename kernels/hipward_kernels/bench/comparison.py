"""Compares two series of times from one run: the interval of their ratio, and an outcome.

The rules are those of the runner for a job (`runner/src/statistics`), with one difference: there is no minimum size of
an effect, so that a certain loss counts as a loss however small it is. This module uses neither a clock nor PyTorch.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS = 400
CLOSE = 1.02
"""An interval that contains 1 and is wider than this and than the noise is ambiguous."""
MOST_ALIKE = 1.10
"""An interval that allows a larger factor is never SAME, whatever the noise."""

Rounds = list[list[float]]
"""Samples of one variant, one list per round. Each round measures all variants of a run."""

Outcome = Literal["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one variant is as another, with the 95 % interval."""

    middle: float
    low: float
    high: float

    @property
    def noise(self) -> float:
        """The largest factor that the interval allows in either direction; for a variant and itself, the noise."""
        return max(self.high, 1 / self.low, 1.0)


def ratio(other: Rounds, mine: Rounds) -> Ratio:
    """Median of `other` divided by median of `mine`; above 1, `mine` is faster.

    The interval is a bootstrap over rounds, which cancels a drift that affects both. Its seed is fixed. Median and
    interval are those of the rounds that both took part in: one may have stopped earlier.
    """
    order = random.Random(0)  # noqa: S311 - draws, not secrets
    shared = range(min(len(other), len(mine)))
    drawn = []
    for _ in range(DRAWS):
        rounds = order.choices(shared, k=len(shared))
        drawn.append(_median(other, rounds) / _median(mine, rounds))
    drawn.sort()
    edge = round(0.025 * DRAWS)
    middle = _median(other, shared) / _median(mine, shared)
    return Ratio(middle, drawn[edge], drawn[-1 - edge])


def _median(rounds: Rounds, which: Sequence[int]) -> float:
    return median([ms for index in which for ms in rounds[index]])


def outcome(found: Ratio, noise: float) -> Outcome:
    """The outcome of a ratio in a run where a variant differs from itself by the factor `noise`."""
    if found.low > noise:
        return "FASTER"
    if found.high < 1 / noise:
        return "SLOWER"
    within = min(max(noise, CLOSE), MOST_ALIKE)
    return "SAME" if found.low >= 1 / within and found.high <= within else "AMBIGUOUS"
