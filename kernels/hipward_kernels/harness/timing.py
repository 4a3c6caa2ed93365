"""Times single calls: device events on a GPU, a monotonic clock on a CPU.

Functions that a snippet could replace are bound when this module is imported, which is before the snippet: the clock,
the garbage collector, and the C class of PyTorch's events, whose methods cannot be replaced.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import torch

from hipward_kernels.gpu.devices import MIB, flush_bytes
from hipward_kernels.harness.throttle import NoWatch, watch_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hipward_kernels.harness.throttle import Watch

# A build of PyTorch without GPU support lacks these; then no `DeviceClock` is created.
_Event: Any = getattr(torch._C, "_CudaEventBase", None)  # noqa: SLF001 - see above
_synchronize: Any = getattr(torch._C, "_cuda_synchronize", None)  # noqa: SLF001
_current_stream = torch.cuda.current_stream
_keep_busy: Any = getattr(torch._C, "_cuda_sleep", None)  # noqa: SLF001 - the delay of PyTorch's own tests
_gc_enabled, _gc_enable, _gc_disable = gc.isenabled, gc.enable, gc.disable

OVERHEAD_PAIRS = 100
BUSY_CYCLES = 400_000
"""About 200 microseconds: longer than the host takes for any call of the benchmarks."""
HOT_BATCH_MS = 0.2
"""Least duration of a batch of hot calls: much longer than the overhead of the two events around it."""
HOT_BATCHES = 30
FEWEST_HOT_BATCHES = 5
HOT_SECONDS = 0.5
"""Time for the batches of a variant: long calls vary less, and have fewer batches."""
MOST_HOT_CALLS = 2000
WAITS_FOR_HOST = 0.9
"""If launching takes more than this share of a call's time, the device waits for the host."""


@dataclass(frozen=True)
class Hot:
    """Times of consecutive calls with warm caches."""

    ms: list[float]
    """Time of a call, for each batch."""
    calls: int
    """Calls of a batch."""
    wall_ms: float
    """Time of a call on the host's clock, including the wait for the device after each batch."""
    launch_ms: float
    """Share of `wall_ms` until the host has launched the calls."""

    @property
    def waits_for_host(self) -> bool:
        """Whether the host is the limit: the device completes a call before the next one is launched."""
        return self.launch_ms >= WAITS_FOR_HOST * median(self.ms)


class Clock(Protocol):
    """Takes samples of a call's time."""

    name: str
    """`device events` or `monotonic clock`."""
    cache: str
    """State of the caches before each call."""

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        """Times one call for each of `arguments`; returns milliseconds in order, and the result of the last call."""


class WatchfulClock(Clock, Protocol):
    """A clock that also detects throttling and hidden work."""

    watch: Watch
    hidden_ms: float
    """After `samples`: duration of the device's work after the end of the last call."""
    outside_ms: float
    """After `samples`: time for each call outside of its sample, without `before` and `after`."""

    def samples(
        self,
        call: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
        after: Callable[[int, Any], None] | None = None,
        before: Callable[[int], None] | None = None,
    ) -> tuple[list[float], Any]:
        """See `Clock`. `before` is called with the index of each call, `after` with its index and result.

        Neither is part of the timed region.
        """


class HostClock:
    """Clock of a CPU, where a call ends when its work does."""

    name = "monotonic clock"
    cache = "warm"
    hidden_ms = 0.0

    def __init__(self) -> None:
        self.watch = watch_for(torch.device("cpu"))
        self.outside_ms = 0.0

    def samples(
        self,
        call: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
        after: Callable[[int, Any], None] | None = None,
        before: Callable[[int], None] | None = None,
    ) -> tuple[list[float], Any]:
        """See `WatchfulClock`. The garbage collector is disabled meanwhile."""
        now = perf_counter_ns
        times = []
        result = None
        collects = _gc_enabled()
        _gc_disable()
        self.watch.begin()
        ours = 0
        began = now()
        try:
            for index, args in enumerate(arguments):
                # Frees the last result here and not while the next call is timed.
                result = None
                ready = now()
                if before:
                    before(index)
                start = now()
                result = call(*args)
                end = now()
                times.append((end - start) / 1e6)
                if after:
                    after(index, result)
                ours += start - ready + now() - end
        finally:
            if collects:
                _gc_enable()
        self.outside_ms = ((now() - began - ours) / 1e6 - sum(times)) / len(times) if times else 0.0
        return times, result


class DeviceClock:
    """Clock of a GPU: events on the stream around each call, with cold caches."""

    def __init__(self, device: torch.device, *, host_ahead: bool = False) -> None:
        """Allocates the buffer that flushes the caches.

        Args:
            device: The GPU.
            host_ahead: Keeps the GPU busy before each call until the host has launched it, so that the host's time is
                never part of a sample. The sensors are then not read.
        """
        size = flush_bytes(device)
        self.name = "device events, host ahead" if host_ahead else "device events"
        self.cache = f"cold ({size // MIB} MiB flushed)"
        self.watch: Watch = NoWatch("this clock does not read the sensors") if host_ahead else watch_for(device)
        self.hidden_ms = 0.0
        self.outside_ms = 0.0
        self._host_ahead = host_ahead
        self._device = device
        self._flush = torch.empty(size, dtype=torch.uint8, device=device)

    def samples(
        self,
        call: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
        after: Callable[[int, Any], None] | None = None,
        before: Callable[[int], None] | None = None,
    ) -> tuple[list[float], Any]:
        """See `WatchfulClock`. The host does not wait until all calls are launched.

        Writing the flush buffer takes the GPU long enough for the host to get ahead, so that the samples contain the
        call's work and not its launch, unless the call launches very many kernels.
        """
        result = None
        self.hidden_ms = 0.0
        self.watch.begin()
        with torch.cuda.device(self._device):
            stream = _current_stream(self._device)
            events = [(_event(), _event(), _event()) for _ in arguments]
            for index, (args, (ready, start, end)) in enumerate(zip(arguments, events, strict=True)):
                if before:
                    before(index)
                ready.record(stream)
                self._flush.zero_()
                if self._host_ahead:
                    _keep_busy(BUSY_CYCLES)
                start.record(stream)
                result = call(*args)
                end.record(stream)
                if after:
                    after(index, result)
            last = _event()
            last.record(stream)
            self.watch.wait(last.query)
            # Work that is still running is on a stream that the calls did not wait for.
            seen = perf_counter_ns()
            _synchronize()
            self.hidden_ms = (perf_counter_ns() - seen) / 1e6
        # The flush and, if the call has moved the event that starts its sample, a part of the call.
        outside = [ready.elapsed_time(start) for ready, start, _ in events]
        self.outside_ms = median(outside) + self.hidden_ms / len(outside) if outside else 0.0
        return [start.elapsed_time(end) for _, start, end in events], result

    def hot(self, call: Callable[..., Any], arguments: Sequence[Any], call_s: float) -> Hot:
        """Measures with warm caches: batches of calls with the same arguments, without a flush in between.

        An untimed call precedes each batch: while the device runs it, the host launches the next ones. Otherwise, a
        batch of one long call would begin with the host's work, which the flush hides in cold samples.

        Args:
            call: The function to time.
            arguments: Arguments of every call.
            call_s: Approximate duration of a call on the device.
        """
        calls = min(max(int(HOT_BATCH_MS * 1e-3 / max(call_s, 1e-9)) + 1, 1), MOST_HOT_CALLS)
        batches = min(max(int(HOT_SECONDS / max((calls + 1) * call_s, 1e-9)), FEWEST_HOT_BATCHES), HOT_BATCHES)
        times, walls, launches = [], [], []
        with torch.cuda.device(self._device):
            stream = _current_stream(self._device)
            # The first batch has cold caches and is not counted.
            for batch in range(batches + 1):
                start, end = _event(), _event()
                began = perf_counter_ns()
                call(*arguments)
                start.record(stream)
                for _ in range(calls):
                    call(*arguments)
                end.record(stream)
                launched = perf_counter_ns()
                _synchronize()
                ended = perf_counter_ns()
                if batch:
                    launches.append((launched - began) / 1e6 / (calls + 1))
                    walls.append((ended - began) / 1e6 / (calls + 1))
                    times.append(start.elapsed_time(end) / calls)
            # Once more, untimed, to read the clock, which may be lower for consecutive calls.
            self.watch.begin()
            for _ in range(calls + 1):
                call(*arguments)
            end.record(stream)
            self.watch.wait(end.query)
            _synchronize()
        return Hot(times, calls, median(walls), median(launches))


def _event() -> Any:
    return _Event(enable_timing=True, blocking=False, interprocess=False)


def clock_for(device: torch.device) -> HostClock | DeviceClock:
    """The clock of `device`."""
    return HostClock() if device.type == "cpu" else DeviceClock(device)


def overhead_ms(clock: Clock) -> float:
    """Median time of an empty call, in milliseconds."""
    times, _ = clock.samples(lambda: None, [()] * OVERHEAD_PAIRS)
    return median(times)
