"""Times a call and checks its result, like the helpers of the same names in `aiter`, with confidence intervals.

got, took = perftest(rmsnorm, x, weight, bytes_moved=bytes_of_rmsnorm)
check_allclose(got, reference, rtol=1e-2, atol=1e-2)
print(took)   # 70.1 µs ±0.1 %, 3830 GB/s: 80 % of peak, 90 % of copy, memory-bound
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.gpu.devices import MIB, describe
from hipward_kernels.gpu.facts import product_named
from hipward_kernels.gpu.roofline import floor
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.harness.timing import DeviceClock, HostClock
from hipward_kernels.numerics.distance import distance
from hipward_kernels.numerics.nested import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from hipward_kernels.gpu.roofline import Bound
    from hipward_kernels.harness.timing import Clock

WARM_CALLS = 3
COPY_BYTES = 2**31
COPY_BYTES_CPU = 2**27
COPIES = 20
FEWEST_SETS, MOST_SETS = 3, 16
SETS_BYTES = 2048 * MIB


@dataclass(frozen=True)
class Performance:
    """The time of a call, and its share of the device's limits."""

    milliseconds: float
    """Median."""
    low_ms: float
    """Lower end of the median's 95 % confidence interval."""
    high_ms: float
    gigabytes_per_second: float
    teraflops: float
    copy_share: float
    """Share of the bandwidth of copying a large tensor, measured once in this process."""
    peak_share: float | None
    """Share of the data sheet's bandwidth or arithmetic rate, whichever bounds the call; None for an unknown device."""
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
    """Warms up a call, then times it.

    Args:
        call: The function to time.
        *arguments: Its arguments; the first tensor among them decides the device and the dtype.
        bytes_moved: Each input read once and each output written once.
        flops: Floating-point operations.
        samples: Number of timed calls, each with cold caches on a GPU.

    Returns:
        The result of the last call, and the performance.
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
    """Statistics of samples in milliseconds, and shares of the device's limits."""
    middle, low, high = median_interval(list(times_ms))
    rate = bytes_moved / (middle * 1e6)
    product = product_named(describe(device).name)
    least = None if product is None else floor(product, dtype, bytes_moved, flops)
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


@lru_cache(maxsize=8)
def clock_of(device: torch.device) -> Clock:
    """The clock of a device, made once, because that of a GPU allocates a buffer to flush caches with.

    Small ops take the host longer than the GPU, so a GPU's clock lets the host launch ahead.
    """
    return HostClock() if device.type == "cpu" else DeviceClock(device, host_ahead=True)


def argument_sets(make: Callable[[], Sequence[Any]]) -> list[Sequence[Any]]:
    """Argument sets for calls to use in turn, enough that no call finds its own in a cache.

    Flushing alone does not ensure that, probably because reductions of torch.compile load as `evict_last`: on an H200
    its RMSNorm of 32 rows of 8192 took 6 to 18 % longer with 16 to 64 sets than with 3, in each of five processes, and
    ours, which has no such hint, 0 to 4 %.

    Args:
        make: Returns a new set.
    """
    first = make()
    count = min(max(SETS_BYTES // max(size_in_bytes(first), 1), FEWEST_SETS), MOST_SETS)
    return [first, *(make() for _ in range(count - 1))]


@lru_cache(maxsize=8)
def copy_rate(device: torch.device) -> float:
    """Bandwidth of copying a large tensor on a device: bytes read and written, in 10**9 bytes per second."""
    size = COPY_BYTES_CPU if device.type == "cpu" else COPY_BYTES
    return 2 * size / (copy_ms(device, size) * 1e6)


def copy_ms(device: torch.device, size: int) -> float:
    """Median time of copying `size` bytes, in milliseconds."""
    source, target = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    target.copy_(source)
    times, _ = clock_of(device).samples(target.copy_, [(source,)] * COPIES)
    return median_interval(times)[0]


def check_allclose(got: Tensor, expected: Tensor, rtol: float = 1e-2, atol: float = 1e-2, share: float = 0.0) -> float:
    """Raises unless nearly all elements are close; returns the share of those that are not.

    An element is close if `|got - expected| <= atol + rtol * |expected|`, computed in float64. NaN is never close.

    Args:
        got: The computed tensor.
        expected: The expected tensor.
        rtol: Relative tolerance.
        atol: Absolute tolerance, in the unit of the tensors.
        share: Share of elements that may differ by more.

    Raises:
        AssertionError: The shapes differ, or more elements than `share` are not close.
    """
    if got.shape != expected.shape:
        raise AssertionError(f"shapes differ: {list(got.shape)} and {list(expected.shape)}")
    wrong = ~torch.isclose(got.double(), expected.double(), rtol=rtol, atol=atol)
    found = float(wrong.double().mean()) if wrong.numel() else 0.0
    if found > share:
        apart = distance(got, expected)
        raise AssertionError(
            f"{found:.2%} of {got.numel()} elements are further apart than {atol:g} + {rtol:g} × |expected|; "
            f"{share:.2%} may be. Largest difference {apart.max_abs:.3g}, root mean square {apart.rms:.3g}, "
            f"cosine {apart.cosine:.6f}"
        )
    return found
