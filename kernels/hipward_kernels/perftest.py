"""Times a call and checks its result: what `aiter`'s helpers of the same names do, with conditions and intervals.

got, took = perftest(rmsnorm, x, weight, bytes_moved=bytes_of_rmsnorm)
check_allclose(got, reference, rtol=1e-2, atol=1e-2)
print(took)   # 70.1 µs ±0.1 %, 3830 GB/s: 80 % of peak, 90 % of copy, memory-bound
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.devices import MIB, describe, flush_bytes
from hipward_kernels.harness.distance import distance
from hipward_kernels.harness.outputs import size_in_bytes
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.harness.throttle import watch_for
from hipward_kernels.harness.timing import HostClock
from hipward_kernels.roofline import floor, peak_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from hipward_kernels.harness.timing import Clock
    from hipward_kernels.roofline import Bound

WARM_CALLS = 3
COPY_BYTES = 2**31
COPY_BYTES_CPU = 2**27
COPIES = 20
FEWEST_SETS, MOST_SETS = 3, 16
SETS_BYTES = 2048 * MIB
BUSY_CYCLES = 400_000
"""Some 200 microseconds: longer than the host takes for any call that is measured here."""


@dataclass(frozen=True)
class Performance:
    """What a call took, against what the device can do."""

    milliseconds: float
    """Median."""
    low_ms: float
    """Lower end of the median's 95 % confidence interval."""
    high_ms: float
    gigabytes_per_second: float
    teraflops: float
    copy_share: float
    """Of what copying a large tensor reaches on this device, now."""
    peak_share: float | None
    """Of the data sheet's bandwidth or arithmetic rate, whichever bounds the call; None for an unknown device."""
    bound: Bound | None

    def __str__(self) -> str:
        half = (self.high_ms - self.low_ms) / (2 * self.milliseconds)
        peak = "" if self.peak_share is None else f"{self.peak_share:.0%} of peak, "
        bound = "" if self.bound is None else f", {self.bound}-bound"
        rate = f"{self.gigabytes_per_second:.0f} GB/s"
        if self.bound == "compute":
            rate = f"{self.teraflops:.0f} TFLOP/s"
        return f"{self.milliseconds * 1e3:.1f} µs ±{half:.1%}, {rate}: {peak}{self.copy_share:.0%} of copy{bound}"


def perftest(
    call: Callable[..., Any], *arguments: Any, bytes_moved: float, flops: float = 0.0, samples: int = 100
) -> tuple[Any, Performance]:
    """Calls, then times the calls.

    Args:
        call: What is timed.
        *arguments: Of the call; the first tensor among them decides the device and the dtype.
        bytes_moved: Each input read once and each output written once.
        flops: Floating-point operations.
        samples: Calls that are timed, each with cold caches on a GPU.

    Returns:
        What the last call returned, and its performance.
    """
    first = next((argument for argument in arguments if isinstance(argument, torch.Tensor)), None)
    if first is None:
        raise ValueError("perftest: no argument is a tensor, so there is no device to time on")
    clock = clock_of(first.device)
    with torch.no_grad():
        for _ in range(WARM_CALLS):
            call(*arguments)
        times, result = clock.samples(call, [arguments] * samples)
    return result, performance(times, first.device, first.dtype, bytes_moved, flops)


def performance(
    times_ms: Sequence[float], device: torch.device, dtype: torch.dtype, bytes_moved: float, flops: float
) -> Performance:
    """Puts samples into relation to the device."""
    middle, low, high = median_interval(list(times_ms))
    rate = bytes_moved / (middle * 1e6)
    peak = peak_of(describe(device).name)
    least = None if peak is None else floor(peak, dtype, bytes_moved, flops)
    return Performance(
        milliseconds=middle,
        low_ms=low,
        high_ms=high,
        gigabytes_per_second=rate,
        teraflops=flops / (middle * 1e9),
        copy_share=rate / copy_rate(device),
        peak_share=None if least is None else least.seconds * 1e3 / middle,
        bound=None if least is None else least.bound,
    )


_event = partial(torch.cuda.Event, enable_timing=True)
_keep_busy = partial(torch.cuda._sleep)  # noqa: SLF001 - what PyTorch's own tests wait with


class AheadClock:
    """Device events around a call that the host has launched before the GPU gets to it, with cold caches.

    The GPU is kept busy before each call, so that what is timed is the GPU's work and never the host's. Small ops take
    the host longer than the GPU: `host_microseconds` of `bench.py` measures that apart.
    """

    name = "device events, host ahead"

    def __init__(self, device: torch.device) -> None:
        size = flush_bytes(device)
        self.cache = f"cold ({size // MIB} MiB flushed)"
        self._device = device
        self._flush = torch.empty(size, dtype=torch.uint8, device=device)
        self.watch = watch_for(device)
        self.hidden_ms = 0.0

    def samples(
        self,
        call: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
        after: Callable[[int, Any], None] | None = None,
    ) -> tuple[list[float], Any]:
        """See `harness.timing.Clock`."""
        result = None
        with torch.cuda.device(self._device):
            pairs = [(_event(), _event()) for _ in arguments]
            for index, (args, (start, end)) in enumerate(zip(arguments, pairs, strict=True)):
                self._flush.zero_()
                _keep_busy(BUSY_CYCLES)
                start.record()
                result = call(*args)
                end.record()
                if after:
                    after(index, result)
            torch.cuda.synchronize(self._device)
        return [start.elapsed_time(end) for start, end in pairs], result


@lru_cache(maxsize=8)
def clock_of(device: torch.device) -> Clock:
    """The clock of a device, made once: a GPU's holds a buffer that flushes caches."""
    return HostClock() if device.type == "cpu" else AheadClock(device)


def argument_sets(make: Callable[[], Sequence[Any]]) -> list[Sequence[Any]]:
    """Arguments for calls to take in turn, so many that none finds its own still in a cache.

    Flushing alone need not see to that, probably because reductions of torch.compile load as `evict_last`: on an H200
    its RMSNorm of 32 rows of 8192 took 6 to 18 % longer with 16 to 64 sets than with 3, in each of five processes, and
    ours, which has no such hint, 0 to 4 %.

    Args:
        make: Gives a new set.
    """
    first = make()
    count = min(max(SETS_BYTES // max(size_in_bytes(first), 1), FEWEST_SETS), MOST_SETS)
    return [first, *(make() for _ in range(count - 1))]


@lru_cache(maxsize=8)
def copy_rate(device: torch.device) -> float:
    """What copying a large tensor reaches on a device, bytes read and written, in 10**9 bytes a second."""
    size = COPY_BYTES_CPU if device.type == "cpu" else COPY_BYTES
    return 2 * size / (copy_ms(device, size) * 1e6)


def copy_ms(device: torch.device, size: int) -> float:
    """How long copying `size` bytes takes, median, in milliseconds."""
    source, target = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    target.copy_(source)
    times, _ = clock_of(device).samples(target.copy_, [(source,)] * COPIES)
    return median_interval(times)[0]


def check_allclose(got: Tensor, expected: Tensor, rtol: float = 1e-2, atol: float = 1e-2, share: float = 0.0) -> float:
    """Raises unless nearly all elements agree; returns the share that does not.

    An element agrees when `|got - expected| <= atol + rtol * |expected|`, compared in float64. NaN never agrees.

    Args:
        got: What was computed.
        expected: What should have been.
        rtol: Relative tolerance.
        atol: Absolute tolerance, in the unit of the tensors.
        share: Of elements that may disagree.
    """
    if got.shape != expected.shape:
        raise AssertionError(f"shapes differ: {list(got.shape)} and {list(expected.shape)}")
    wrong = ~torch.isclose(got.double(), expected.double(), rtol=rtol, atol=atol)
    found = float(wrong.double().mean()) if wrong.numel() else 0.0
    if found > share:
        apart = distance(got, expected, rtol)
        raise AssertionError(
            f"{found:.2%} of {got.numel()} elements are further apart than {atol:g} + {rtol:g} × |expected|; "
            f"{share:.2%} may be. Largest difference {apart.max_abs:.3g}, root mean square {apart.rms:.3g}, "
            f"cosine {apart.cosine:.6f}"
        )
    return found
