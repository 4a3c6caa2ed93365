"""Times the rungs that passed the gate, and looks at some results amid the timing.

A rung that fails here, or whose results are wrong only while it is timed, is out.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.outputs import cloned, flatten
from hipward_kernels.harness.precision import WrongResultError, compare_with_eager, run
from hipward_kernels.harness.sampling import interleave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.inputs import Ring
    from hipward_kernels.harness.lines import Lines, OutputError, Variant
    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock

RECHECK_SHARE = 0.5
"""Part of a rung's turns, after its first, whose last result is compared with eager's."""


@dataclass(frozen=True)
class Entrant:
    """A rung that passed the gate and is warm."""

    call: Callable[..., Any]
    call_s: float
    """About how long a call takes."""


class Race:
    """Rungs that take turns on one device."""

    def __init__(
        self,
        rungs: Mapping[Variant, Entrant],
        ring: Ring,
        clock: Clock,
        eager_errors: Sequence[OutputError],
        on_failure: Callable[[Variant, BaseException], None],
    ) -> None:
        """`on_failure` reports that a rung is out; it may raise to end the race."""
        self._rungs = rungs
        self._ring = ring
        self._clock = clock
        self._eager_errors = eager_errors
        self._on_failure = on_failure
        self._rechecked: set[Variant] = set()
        self._random = random.Random(secrets.randbits(64))  # noqa: S311 - shuffles, guards nothing

    def start(self, rule: StopRule, lines: Lines) -> None:
        """Times all rungs until each has a reason to stop."""
        expected = {variant: entrant.call_s for variant, entrant in self._rungs.items()}
        interleave(expected, self._take, rule, self._random, lines, self._ring.refresh)

    def _take(self, variant: Variant, count: int) -> list[float] | None:
        rung = self._rungs[variant].call
        try:
            arguments = [self._ring.take() for _ in range(count)]
            with torch.no_grad():
                last = cloned(arguments[-1])
                if count > 1:
                    # Not timed: another rung had the caches and the threads until now. Calls that are so long
                    # that a turn has only one do not notice.
                    rung(*self._ring.take())
                times, result = self._clock.samples(rung, arguments)
            if variant != "eager" and (variant not in self._rechecked or self._random.random() < RECHECK_SHARE):
                self._rechecked.add(variant)
                expected = run(self._rungs["eager"].call, last, 0)
                compare_with_eager(flatten(result), expected, self._eager_errors)
        except WrongResultError as error:
            self._on_failure(variant, WrongResultError(f"{error}, in a timed call"))
            return None
        except BaseException as error:
            self._on_failure(variant, error)
            return None
        return times
