"""The job's time limit: the remaining time, and timeouts of steps.

The runner stops a job at its limit, and results that are not reported by then are lost. So the preparation of variants
ends while there is time to sample those that are ready, and sampling ends while there is time to report it.
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
    """A step exceeded its timeout. Not an `Exception`, so that handlers in the snippet do not catch it."""

    doing: str | None = None
    """The function of the snippet that was interrupted, if it is known: `get_inputs`."""


class Deadline:
    """The deadline of a job."""

    def __init__(self, limit_s: float | None) -> None:
        """Starts the clock. Without a limit, there is always time left."""
        self.limit_s = limit_s
        self.has_expired = False
        """Whether the current step was interrupted: an exception may then be a consequence of the interruption."""
        # Bound now, because a snippet may replace the attribute of the module.
        self._now = perf_counter
        self._begin = self._now()
        if limit_s is None:
            self._end = math.inf
        else:
            margin = min(max(MARGIN_SHARE * limit_s, LEAST_MARGIN_S), MOST_MARGIN_S, limit_s / 4)
            self._end = self._now() + limit_s - margin

    def left_s(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self._end - self._now()

    def passed_s(self) -> float:
        """Seconds since the start of the job."""
        return self._now() - self._begin

    @contextmanager
    def reserving(self, reserve_s: float, most_s: float = math.inf) -> Iterator[None]:
        """Raises `OutOfTimeError` within the `with` block after `most_s` or once only `reserve_s` seconds are left.

        Python code and waits are interrupted; a call into compiled code is not.
        """
        most_s = min(most_s, self.left_s() - reserve_s)
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
            if self.has_expired and not isinstance(error, OutOfTimeError):
                # The snippet may have converted the interruption into another exception.
                raise OutOfTimeError from error
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self.has_expired = False
