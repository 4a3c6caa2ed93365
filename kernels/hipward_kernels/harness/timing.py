"""Times single calls: device events on a GPU, a monotonic clock on a CPU.

The clock functions are bound when this module is imported, which is before a snippet can replace them.
"""

from __future__ import annotations

import gc
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import torch

from hipward_kernels.harness.devices import MIB, flush_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_event = partial(torch.cuda.Event, enable_timing=True)
_synchronize = torch.cuda.synchronize

OVERHEAD_PAIRS = 100


class Clock(Protocol):
    """Takes samples of a call's time."""

    name: str
    """`device events` or `monotonic clock`."""
    cache: str
    """State of the caches before each call."""

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        """Milliseconds of one call for each of `arguments`, in order; and what the last call returned."""


class HostClock:
    """For a CPU: calls end when their work does."""

    name = "monotonic clock"
    cache = "warm"

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        """See `Clock`. The garbage collector rests meanwhile."""
        now = perf_counter_ns
        times = []
        result = None
        collects = gc.isenabled()
        gc.disable()
        try:
            for args in arguments:
                # The last result is freed here, not while the next call is timed.
                result = None
                start = now()
                result = call(*args)
                end = now()
                times.append((end - start) / 1e6)
        finally:
            if collects:
                gc.enable()
        return times, result


class DeviceClock:
    """For a GPU: events on the stream, around each call, with cold caches."""

    name = "device events"

    def __init__(self, device: torch.device) -> None:
        size = flush_bytes(device)
        self.cache = f"cold ({size // MIB} MiB flushed)"
        self._device = device
        self._flush = torch.empty(size, dtype=torch.uint8, device=device)

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        """See `Clock`. The host does not wait until all calls are launched.

        Writing the flush buffer takes the GPU long enough for the host to get ahead, so that what is timed is
        the call's work and not its launch, unless the call launches a great many kernels.
        """
        result = None
        with torch.cuda.device(self._device):
            pairs = [(_event(), _event()) for _ in arguments]
            for args, (start, end) in zip(arguments, pairs, strict=True):
                self._flush.zero_()
                start.record()
                result = call(*args)
                end.record()
            _synchronize(self._device)
        return [start.elapsed_time(end) for start, end in pairs], result


def clock_for(device: torch.device) -> Clock:
    """The clock that fits `device`."""
    return HostClock() if device.type == "cpu" else DeviceClock(device)


def overhead_ms(clock: Clock) -> float:
    """Median time of calling nothing, in milliseconds."""
    times, _ = clock.samples(lambda: None, [()] * OVERHEAD_PAIRS)
    return median(times)
