"""What two series of one run say of each other: an interval of their ratio, and a word for it.

The same judgement as the runner's for a job (`runner/src/statistics`), but that nothing is too small to be said: a loss
that is certain is a loss, however little. No clock and no PyTorch here.
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
"""An interval that holds 1 but is wider than this, and than the noise, tells nothing."""
MOST_ALIKE = 1.10
"""What may differ by more is not the same, whatever the noise."""

Rounds = list[list[float]]
"""Samples of one variant, round by round; all variants of a run take their turn in each round."""

Outcome = Literal["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one variant is as another, with the 95 % interval."""

    middle: float
    low: float
    high: float

    @property
    def noise(self) -> float:
        """The largest factor that the interval allows, either way: of a variant and itself, what noise can do."""
        return max(self.high, 1 / self.low, 1.0)


def ratio(other: Rounds, mine: Rounds) -> Ratio:
    """Median of `other` over median of `mine`: above 1, `mine` is faster.

    The interval is a bootstrap over rounds, so that a drift which both met cancels. It is the same each time.
    """
    order = random.Random(0)  # noqa: S311 - draws, not secrets
    shared = range(min(len(other), len(mine)))
    drawn = []
    for _ in range(DRAWS):
        rounds = order.choices(shared, k=len(shared))
        drawn.append(_median(other, rounds) / _median(mine, rounds))
    drawn.sort()
    edge = round(0.025 * DRAWS)
    middle = _median(other, range(len(other))) / _median(mine, range(len(mine)))
    return Ratio(middle, drawn[edge], drawn[-1 - edge])


def _median(rounds: Rounds, which: Sequence[int]) -> float:
    return median([ms for index in which for ms in rounds[index]])


def outcome(found: Ratio, noise: float) -> Outcome:
    """What a ratio says, where a variant differs from itself by the factor `noise`."""
    if found.low > noise:
        return "FASTER"
    if found.high < 1 / noise:
        return "SLOWER"
    within = min(max(noise, CLOSE), MOST_ALIKE)
    return "SAME" if found.low >= 1 / within and found.high <= within else "AMBIGUOUS"
