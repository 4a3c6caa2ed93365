"""The job's time limit: how much is left of it, and steps that end in time.

The runner stops a job at its limit, and what is not said by then is lost. So preparing variants stops while there is
time to sample those that are ready, and sampling stops while there is time to say so.
"""

from __future__ import annotations

import math
import signal
import threading
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

MARGIN_SHARE = 0.1
LEAST_MARGIN_S, MOST_MARGIN_S = 1.0, 10.0
"""Time reserved for the end of the job: a share of the limit, within these bounds."""


class OutOfTimeError(BaseException):
    """A step took longer than it may. No `Exception`: what catches those would go on."""


class Deadline:
    """When a job has to end."""

    def __init__(self, limit_s: float | None) -> None:
        """The time runs from now; without a limit there is always enough."""
        self.limit_s = limit_s
        self.has_expired = False
        """Whether the step that is under way was interrupted: an error may only be what was made of that."""
        # Bound now: a snippet may replace what the module holds.
        self._now = perf_counter
        if limit_s is None:
            self._end = math.inf
        else:
            margin = min(max(MARGIN_SHARE * limit_s, LEAST_MARGIN_S), MOST_MARGIN_S, limit_s / 4)
            self._end = self._now() + limit_s - margin

    def left_s(self) -> float:
        """Seconds until the job has to end; below zero after that."""
        return self._end - self._now()

    @contextmanager
    def keeping(self, reserve_s: float) -> Iterator[None]:
        """Raises `OutOfTimeError` in this step once only `reserve_s` is left, or at once if that is so already.

        Python code and waits are interrupted; a call into compiled code ends first.
        """
        most_s = self.left_s() - reserve_s
        if most_s <= 0:
            raise OutOfTimeError
        if math.isinf(most_s) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def ring(_signal: int, _frame: FrameType | None) -> None:
            self.has_expired = True
            raise OutOfTimeError

        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, most_s)
        try:
            yield
        except BaseException as error:
            if self.has_expired:
                # Whatever was made of the interruption on its way.
                raise OutOfTimeError from error
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self.has_expired = False
