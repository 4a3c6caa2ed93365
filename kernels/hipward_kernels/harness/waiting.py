"""Finds a Model that waits on the CPU instead of computing, by `time.sleep` or for a file, a lock or another process.

Every variant that leaves the pause out is faster than such a Model, and the difference says nothing about kernels. The
processor time of the process, all threads together, is compared with the time that passes.
"""

from __future__ import annotations

from time import perf_counter, process_time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from hipward_kernels.harness.inputs import Ring
    from hipward_kernels.harness.race import Entrant

LEAST_SHARE = 0.5
"""Of the time, in which at least one thread computes. With all threads busy, the share is their number."""

TURNS = 5
TURN_SECONDS = 0.05
MOST_CALLS = 100
LONGEST_CALL_S = 1.0
"""Above, there is one turn only: the harness does not spend more of the job's time on this."""


def computing_share(entrant: Entrant, ring: Ring) -> float:
    """The largest ratio of processor time to time in several turns; the largest, because a host may be busy."""
    turns = TURNS if entrant.call_s < LONGEST_CALL_S else 1
    count = min(max(int(TURN_SECONDS / max(entrant.call_s, 1e-9)), 1), MOST_CALLS)
    return max(_share(entrant, ring, count) for _ in range(turns))


def _share(entrant: Entrant, ring: Ring, count: int) -> float:
    arguments = [ring.take() for _ in range(count)]
    with torch.no_grad():
        started, computed = perf_counter(), process_time()
        for each in arguments:
            entrant.call(*each)
        return (process_time() - computed) / max(perf_counter() - started, 1e-9)
