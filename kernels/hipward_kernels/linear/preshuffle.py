"""The route through AMD's assembly kernels, which read weights in an order of their own.

The kernels read a tile of 16 rows by 32 columns (of 16-bit numbers) at a time, and in it 16 bytes of each row after the
other. A weight in that order has the shape of a plain one and could be used as one by mistake: aiter marks it with an
attribute of the tensor, which is lost by `.to()`, copies, state dicts and custom ops. Here it has its own type,
`Shuffled`, which is not a tensor.

The plain weight stays the parameter that is trained, saved, loaded and moved. The shuffled copy is created at the first
product, and again after each change that PyTorch reports: in-place operations, `load_state_dict`, another tensor or
memory in its place, and a step of any `torch.optim` optimizer, including fused ones, which do not increment the version
counter. A weight that was created in inference mode has no version counter; the route does not support it.

PyTorch does not report some writes: `weight.data.copy_(…)`, which some inference servers use to load weights, a kernel
or a collective with the address, memory shared with NumPy or DLPack. After such a write, call `refresh(weight)`, or
`refresh()` for all weights. Without it, a product raises `StaleError`, but not the first one: sums of the weight are
compared at the second product, and then at every `LOOKS`th. A GPU computes them meanwhile, and the next product reads
the result. `HIPWARD_CHECK_SHUFFLED=1` compares the whole weight at each product, which takes longer than the kernels
save.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook

from hipward_kernels.dispatch import switches
from hipward_kernels.linear import aiter as amd

if TYPE_CHECKING:
    from torch import Tensor

TILE_ROWS = 16
CHUNK = torch.complex128
"""A dtype as wide as the bytes that stay together. PyTorch's copy moves an element at a time: with this dtype it takes
63 µs instead of 147 for a weight of 4096 by 14336 on an H200."""
CHUNKS = 4
"""Chunks of a row in a tile: a tile is 64 bytes wide."""


def tile_columns(itemsize: int) -> int:
    """Columns of a tile: 32 for 16-bit elements, 64 for 8-bit elements."""
    return CHUNKS * CHUNK.itemsize // itemsize


def refuses(weight: Tensor) -> str | None:
    """Why a weight cannot be shuffled, or None if it can."""
    if weight.dim() != 2 or weight.dtype.itemsize > 2:
        return f"the weight is {list(weight.shape)} {weight.dtype}; [N, K] of 16 or 8 bits is needed"
    columns = tile_columns(weight.dtype.itemsize)
    if weight.shape[0] % TILE_ROWS or weight.shape[1] % columns:
        return f"the weight is {list(weight.shape)}; multiples of {TILE_ROWS} and {columns} are needed"
    return None


@dataclass(frozen=True)
class Shuffled:
    """A weight in the kernels' order. It is not a tensor, so that it cannot be multiplied by mistake."""

    data: Tensor
    """Shape `[N, K]`; the elements of the plain weight in another order."""

    @classmethod
    def of(cls, weight: Tensor) -> Shuffled:
        """Shuffles a plain weight `[N, K]`; the result is a copy."""
        if reason := refuses(weight):
            raise ValueError(f"cannot shuffle: {reason}")
        rows = _aligned(weight.detach()).view(CHUNK)
        tiles = rows.view(rows.shape[0] // TILE_ROWS, TILE_ROWS, rows.shape[1] // CHUNKS, CHUNKS)
        return cls(_copy(tiles.permute(0, 2, 3, 1)).view(weight.dtype).view(weight.shape))

    def plain(self) -> Tensor:
        """The weight in its usual order; a copy."""
        rows = self.data.view(CHUNK)
        tiles = rows.view(rows.shape[0] // TILE_ROWS, rows.shape[1] // CHUNKS, CHUNKS, TILE_ROWS)
        return _copy(tiles.permute(0, 3, 1, 2)).view(self.data.dtype).view(self.data.shape)

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """`x @ weight.T + bias` by aiter's assembly kernels; 16 bits."""
        return amd.linear(x, self.data, bias, shuffled=True)


def _aligned(weight: Tensor) -> Tensor:
    """`weight`, or a copy if it cannot be read in chunks."""
    if weight.is_contiguous() and weight.data_ptr() % CHUNK.itemsize == 0:
        return weight
    return _copy(weight)


def _copy(x: Tensor) -> Tensor:
    return x.clone(memory_format=torch.contiguous_format)


_reference: Any = StorageWeakRef

LOOKS = 256
"""Products from one look for unreported writes to the next: reading a weight takes about as long as a product of few
rows."""


class _Kept:
    """A shuffled copy, and what shows whether the weight has changed since."""

    def __init__(self, weight: Tensor, shuffled: Shuffled) -> None:
        self.memory = _reference(weight.untyped_storage())
        """Another weight may be allocated there later."""
        self.shuffled = shuffled
        self._sums = None if _is_captured(weight) else _sums(weight)
        """None if there is no look: in the capture of a graph nothing is computed yet."""
        self._products = 0
        self._changed: Tensor | None = None
        """On the host, once the event has passed."""
        self._copied: torch.cuda.Event | None = None

    def has_changed(self, weight: Tensor) -> bool:
        """Whether an earlier look has found another weight; begins a look if one is due. Does not wait for a GPU."""
        if self._sums is None or _is_captured(weight):
            return False
        if self._products % LOOKS == 0:
            self._look(weight, self._sums)
        self._products += 1
        if self._changed is None or (self._copied and not self._copied.query()):  # type: ignore[no-untyped-call]
            return False
        changed, self._changed = bool(self._changed), None
        return changed

    def _look(self, weight: Tensor, before: Tensor) -> None:
        changed = (_sums(weight) != before).any()
        if weight.is_cuda:
            host = torch.empty((), dtype=torch.bool, pin_memory=True)
            changed = host.copy_(changed, non_blocking=True)
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied.record()
        self._changed = changed


def _is_captured(weight: Tensor) -> bool:
    return weight.is_cuda and torch.cuda.is_current_stream_capturing()


def _sums(weight: Tensor) -> Tensor:
    """Two sums of the weight's bits: of all, and of every seventh row, because rows may be exchanged."""
    rows = weight.detach().contiguous().view(torch.int32)
    return torch.stack([rows.sum(dtype=torch.int64), rows[::7].sum(dtype=torch.int64)])


_cache: dict[tuple[Any, ...], _Kept] = {}
"""Shuffled copies by the place and version of the weight."""


class StaleError(RuntimeError):
    """A weight was changed by a write that PyTorch does not report; the product would have used the old one."""


@lru_cache(maxsize=1)
def _watch_optimizers() -> None:
    """Clears the cache after each optimizer step: fused optimizers do not increment the version counter."""

    def forget(*_: object) -> None:
        _cache.clear()

    register_optimizer_step_post_hook(forget)


def shuffled_copy(weight: Tensor) -> Shuffled:
    """A weight in the kernels' order: shuffled once, and again after each reported change (see the module).

    Raises:
        StaleError: It was changed otherwise, and a look has found that (see the module).
    """
    if weight.is_inference():
        # It has no version counter, so its copy cannot be cached.
        return Shuffled.of(weight)
    _watch_optimizers()
    key = (*_place(weight), weight._version)  # noqa: SLF001 - the version counter
    found = _cache.get(key)
    if found is not None and not found.memory.expired():
        if _is_stale(weight, found):
            raise StaleError(
                f"the weight {list(weight.shape)} {weight.dtype} was changed by a write that PyTorch does not report, "
                "such as .data.copy_(), so its shuffled copy is stale; call "
                "hipward_kernels.linear.preshuffle.refresh(weight) after such a change"
            )
        return found.shuffled
    refresh(weight)
    shuffled = Shuffled.of(weight)
    _cache[key] = _Kept(weight, shuffled)
    return shuffled


def _is_stale(weight: Tensor, found: _Kept) -> bool:
    if switches.on("HIPWARD_CHECK_SHUFFLED"):
        return not _same_bits(Shuffled.of(weight).data, found.shuffled.data)
    return not torch.compiler.is_compiling() and found.has_changed(weight)


def refresh(weight: Tensor | None = None) -> None:
    """Makes the next product shuffle a weight, or all weights, again; for writes that PyTorch does not report."""
    place = None if weight is None else _place(weight)
    for other, kept in list(_cache.items()):
        if place is None or kept.memory.expired() or other[:-1] == place:
            del _cache[other]


def _place(weight: Tensor) -> tuple[Any, ...]:
    return weight.data_ptr(), weight.shape, weight.stride(), weight.dtype, weight.device


def _same_bits(a: Tensor, b: Tensor) -> bool:
    width = torch.int16 if a.itemsize == 2 else torch.int8
    return torch.equal(a.view(width), b.view(width))


def rows_wanted() -> int | None:
    """Smallest number of rows for this route: `PRESHUFFLE_M_THRESH`; None if it is not set or negative."""
    limit = switches.number("PRESHUFFLE_M_THRESH")
    return None if limit is None or limit < 0 else limit


def refusal(x: Tensor, weight: Tensor, bias: Tensor | None) -> str | None:
    """Why this route cannot run, or None if it can."""
    if weight.is_inference():
        return "the weight was created in inference mode and has no version counter"
    return refuses(weight) or amd.refusal(x, weight, bias) or amd.shuffled_refusal()


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """See `hipward_kernels.linear`."""
    return shuffled_copy(weight).product(x, bias)
