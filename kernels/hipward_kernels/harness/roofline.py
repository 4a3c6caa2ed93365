"""The roofline of a model: the larger of bytes over bandwidth and operations over rate is a lower bound of its time.

One call of `Model` shows what must be read and written: each input and parameter that its operations read, and each
output, once. A variant that is faster did not do the work, even if its results are right. The bound is conservative:
intermediate results and writes that may still be in a cache are not counted, and the rates are those of a data sheet,
or measured ones with a margin. Williams, Waterman, Patterson 2009, "Roofline".
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from hipward_kernels.gpu.devices import describe
from hipward_kernels.gpu.facts import product_named
from hipward_kernels.harness.lines import Roofline
from hipward_kernels.numerics.nested import operands, size_in_bytes, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torch import nn

    from hipward_kernels.gpu.facts import Product
    from hipward_kernels.harness.timing import Clock

MARGIN = 1.25
"""Factor over the measured bandwidth, if there is no data sheet."""
PEAK_MARGIN = 1.5
"""Factor over the measured rate of a large matrix product, which libraries do not run at the peak."""

COPY_SAMPLES = 10
LOOK_SECONDS = 0.2
"""Duration of the search for a CPU's shortest time: another program may run longer than ten small copies."""
COPY_BYTES = {"cpu": 1 << 27, "cuda": 1 << 30}
SMALLEST_COPY = 1 << 20

# Operations that read as many elements as they return, from any place.
_GATHERS = ("embedding", "index_select", "index.Tensor", "gather", "take", "narrow_copy", "slice_copy", "select_copy")


@dataclass(frozen=True)
class Work:
    """The least work of a call."""

    bytes_read: int
    bytes_written: int
    flops: int
    operators: frozenset[str] = frozenset()
    """Names of the operators that it runs, such as `aten::addmm`."""


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes that operations read from the memory of some tensors, and their multiplications and additions.

    One mode for both: a model of many small operations, such as an RNN, takes twice as long under two.
    """

    def __init__(self, watched: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in watched if t.numel()}
        self._read: dict[int, int] = {}
        self.flops = 0
        """Operations of matrix products and convolutions, by PyTorch's formulas."""
        self.operators: set[str] = set()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        result = func(*args, **named)
        self.operators.add(func.name())
        if not getattr(func, "is_view", False):
            for tensor in operands([*args, *named.values()]):
                self._note(tensor, func, result)
        if (formula := flop_registry.get(func.overloadpacket)) is not None:
            self.flops += int(formula(*args, **named, out_val=result))
        return result

    def _note(self, tensor: Tensor, func: Any, result: Any) -> None:
        memory = tensor.untyped_storage().data_ptr() if tensor.numel() else 0
        if memory in self._sizes:
            touched = _distinct(tensor)
            if any(word in str(func) for word in _GATHERS):
                touched = min(touched, size_in_bytes(result))
            self._read[memory] = self._read.get(memory, 0) + touched

    def bytes_read(self) -> int:
        """Number of bytes read, each counted once."""
        return sum(min(read, self._sizes[memory]) for memory, read in self._read.items())


def _distinct(tensor: Tensor) -> int:
    """Bytes of a tensor, without repetitions by a stride of 0."""
    count = tensor.element_size()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride else 1
    return count


def work_of(model: nn.Module, inputs: Sequence[Any]) -> Work:
    """The least work of one call of `model`."""
    watched = [*tensors(list(inputs)), *model.parameters(), *model.buffers()]
    with torch.no_grad(), (counter := _Counter(watched)):
        out = model(*inputs)
    given = {t.untyped_storage().data_ptr() for t in watched if t.numel()}
    # A view of an input is not written.
    made = [t for t in tensors(out) if t.numel() and t.untyped_storage().data_ptr() not in given]
    written = sum(_distinct(t) for t in made)
    return Work(counter.bytes_read(), written, counter.flops, frozenset(counter.operators))


def roofline(work: Work, device: torch.device, dtype: torch.dtype, clock: Clock) -> Roofline:
    """The lower bound of the time of `work`; measures the bandwidth of a copy.

    Args:
        work: The work of a call.
        device: The device that it runs on.
        dtype: Dtype of the matrix products.
        clock: The clock of the variants, which also times the copy.
    """
    gpu = product_named(describe(device).name) if device.type != "cpu" else None
    moved = work.bytes_read + work.bytes_written
    copied, fastest = _copy_rates(device, clock, moved)
    bandwidth, source = fastest * MARGIN, f"the fastest copy or sum of as many bytes, and {MARGIN - 1:.0%}"
    must_move = moved
    if device.type != "cpu":
        # Caches are cold at the beginning of a call; its writes may stay in them.
        cache = (gpu and gpu.cache_bytes) or torch.cuda.get_device_properties(device).L2_cache_size
        must_move = work.bytes_read + max(work.bytes_written - cache, 0)
    if gpu and gpu.bytes_per_second:
        bandwidth, source = max(gpu.bytes_per_second / 1e9, fastest), "the data sheet"
    peak, peak_source = _peak(gpu, device, dtype, clock) if work.flops else (None, "no matrix product, no convolution")
    memory_ms = must_move / (bandwidth * 1e6)
    compute_ms = work.flops / (peak * 1e9) if peak else 0.0
    bound: Literal["memory", "compute"] = "compute" if compute_ms > memory_ms else "memory"
    return Roofline(
        bytes_read=work.bytes_read,
        bytes_written=work.bytes_written,
        flops=work.flops,
        copy_gbs=copied,
        bandwidth_gbs=bandwidth,
        bandwidth_source=source,
        peak_tflops=peak,
        peak_source=peak_source,
        floor_ms=max(memory_ms, compute_ms),
        bound=bound,
    )


def _copy_rates(device: torch.device, clock: Clock, moved: int) -> tuple[float, float]:
    """Bandwidth of a copy, and of the faster of a copy and a reduction, in 10**9 bytes per second.

    On a CPU with as many bytes as the work moves, because its caches are warm; on a GPU with far more than its caches
    can store.
    """
    most = COPY_BYTES[device.type if device.type == "cpu" else "cuda"]
    size = most // 2 if device.type != "cpu" else min(max(moved // 2, SMALLEST_COPY), most // 2)
    source, target = (torch.zeros(size // 4, dtype=torch.int32, device=device) for _ in range(2))
    copied, fastest = _times(device, clock, target.copy_, source)
    _, read = _times(device, clock, torch.Tensor.max, source)
    return 2 * size / (copied * 1e6), max(2 * size / (fastest * 1e6), size / (read * 1e6))


def _times(device: torch.device, clock: Clock, call: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Median and shortest time of a call in milliseconds; the floor must not depend on a moment of load.

    On a CPU, the shortest time may be that of a single thread: if another program runs, several threads wait for each
    other.
    """
    times: list[float] = []
    alone: list[float] = []
    threads = torch.get_num_threads()
    until = perf_counter() + LOOK_SECONDS
    while not times or (device.type == "cpu" and perf_counter() < until):
        times += clock.samples(call, [arguments] * COPY_SAMPLES)[0]
        if device.type == "cpu" and threads > 1:
            torch.set_num_threads(1)
            try:
                alone += clock.samples(call, [arguments] * COPY_SAMPLES)[0]
            finally:
                torch.set_num_threads(threads)
    return median(times), min(times + alone)


def _peak(gpu: Product | None, device: torch.device, dtype: torch.dtype, clock: Clock) -> tuple[float, str]:
    """Upper bound of the rate of matrix products of a dtype, in 10**12 operations per second, and its origin."""
    if gpu and (rate := gpu.matrix_peak(dtype, reduced_precision=True) or gpu.matrix_peak(torch.bfloat16)):
        return rate / 1e12, "the data sheet"
    size = 512 if device.type == "cpu" else 4096
    a = torch.randn(size, size, device=device).to(dtype)
    _, shortest = _times(device, clock, torch.matmul, a, a)
    return PEAK_MARGIN * 2 * size**3 / (shortest * 1e9), f"a matrix product of {size}, and {PEAK_MARGIN - 1:.0%}"
