"""Measures whether an optimization step costs time, so that later variants can leave it out.

A step that speeds up one model slows down another: a fused kernel may prevent a compiler from fusing more, and a
library that is faster alone may be slower between others. So each step is measured with this model on this device,
before the timing.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from hipward_kernels.harness.inputs import Ring
    from hipward_kernels.harness.race import Entrant
    from hipward_kernels.harness.timing import WatchfulClock

ROUNDS = 5
TURN_SECONDS = 0.05
MOST_CALLS = 20

COSTS = 1.02
"""Ratio to the variant without the step from which on the step costs time; the runner's smallest difference."""


def cost(variant: Entrant, below: Entrant, ring: Ring, clock: WatchfulClock) -> tuple[float, float] | None:
    """Milliseconds of a call with a step and without it, if it costs time in every round; else None."""
    taken: tuple[list[float], list[float]] = ([], [])
    for round_ in range(ROUNDS):
        if round_ % 2:
            with_it, without = _turn(variant, ring, clock), _turn(below, ring, clock)
        else:
            without, with_it = _turn(below, ring, clock), _turn(variant, ring, clock)
        if median(with_it) <= COSTS * median(without):
            return None
        taken[0].extend(with_it)
        taken[1].extend(without)
    return median(taken[0]), median(taken[1])


def _turn(entrant: Entrant, ring: Ring, clock: WatchfulClock) -> list[float]:
    count = min(max(int(TURN_SECONDS / max(entrant.call_s, 1e-9)), 1), MOST_CALLS)
    arguments = [ring.take() for _ in range(count)]
    with torch.no_grad():
        # Not timed: the other variant used the caches until now.
        entrant.call(*ring.take())
        return clock.samples(entrant.call, arguments)[0]
