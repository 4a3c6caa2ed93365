# fails: case_compile, case_slow_clock
# message: The first call, and the calls until the clock has risen, are not samples.
"""A stopwatch for a device that works through a queue."""

from collections.abc import Callable
from typing import Protocol

WARM_UP_S = 0.25


class Device(Protocol):
    """What the stopwatch uses of a device. The judge passes a simulated one."""

    def now(self) -> float:
        """Seconds on the host's monotonic clock."""

    def synchronize(self) -> None:
        """Waits until the device's queue is empty."""


def stopwatch(device: Device, step: Callable[[], None], calls: int) -> tuple[float, list[float]]:
    """Seconds of the first call, and of each of `calls` calls after the warm-up.

    `step()` queues work on the device and returns before the work is done.
    """
    # hole: first
    # Wait first: work that others queued does not belong to this step.
    device.synchronize()
    start = device.now()
    step()
    device.synchronize()
    first = device.now() - start
    # end: first
    # hole: warm-up
    # end: warm-up
    times = []
    for _ in range(calls):
        # hole: call
        # The queue is empty here, because the last thing that ran was a wait.
        start = device.now()
        step()
        device.synchronize()
        times.append(device.now() - start if times else first)
        # end: call
    return first, times
