"""The route through AMD's assembly kernels, which read weights in an order of their own, and a guard for that order.

The kernels read a tile of 16 rows by 32 columns (of 16-bit numbers) at a time, and in it 16 bytes of each row after the
other. A weight in that order has the shape of a plain one, so nothing stops it from being multiplied as one: aiter
marks it with an attribute of the tensor, which `.to()`, copies, state dicts and custom ops lose. Here the mark is a
type: `Shuffled` is no tensor, and only `product` takes it apart.

The plain weight stays the parameter: it is what is trained, saved, loaded and moved. The shuffled one is made from it
when it is first multiplied, and anew after each change that PyTorch tells of: operations in place, `load_state_dict`,
another tensor or memory in its place, and a step of any `torch.optim` optimizer, fused ones included, which change
weights without counting it. A weight that was made in inference mode counts no changes; the route does not take it.

What writes past PyTorch is not seen: `weight.data.copy_(…)`, which some inference servers load weights with, a kernel
or a collective that is given the address, memory shared with NumPy or DLPack. Reading the whole weight at each product
to find out would take longer than the kernels save. After such a write, call `refresh(weight)`, or `refresh()` for all;
`HIPWARD_CHECK_SHUFFLED=1` compares at each product, and raises where that was forgotten.
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
"""As wide as what stays together. PyTorch's copy moves an element at a time: with these it takes 63 µs instead of 147
for a weight of 4096 by 14336 on an H200."""
CHUNKS = 4
"""Chunks of a row in a tile: a tile is 64 bytes wide."""


def tile_columns(itemsize: int) -> int:
    """Columns of a tile: 32 of 16 bits, 64 of 8."""
    return CHUNKS * CHUNK.itemsize // itemsize


def refuses(weight: Tensor) -> str | None:
    """Why a weight cannot be shuffled, or None."""
    if weight.dim() != 2 or weight.dtype.itemsize > 2:
        return f"the weight is {list(weight.shape)} {weight.dtype}; [N, K] of 16 or 8 bits is needed"
    columns = tile_columns(weight.dtype.itemsize)
    if weight.shape[0] % TILE_ROWS or weight.shape[1] % columns:
        return f"the weight is {list(weight.shape)}; multiples of {TILE_ROWS} and {columns} are needed"
    return None


@dataclass(frozen=True)
class Shuffled:
    """A weight in the kernels' order. Not a tensor: it cannot be multiplied by mistake."""

    data: Tensor
    """Shape `[N, K]`, whose elements are those of the plain weight in another order."""

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
    """`weight`, or a copy of it where it cannot be read in chunks."""
    if weight.is_contiguous() and weight.data_ptr() % CHUNK.itemsize == 0:
        return weight
    return _copy(weight)


def _copy(x: Tensor) -> Tensor:
    return x.clone(memory_format=torch.contiguous_format)


_cache: dict[tuple[Any, ...], tuple[Any, Shuffled]] = {}
"""By what makes a weight what it is, with a reference to its memory that does not keep it: what comes to lie there
later is another weight."""

_reference: Any = StorageWeakRef


class StaleError(RuntimeError):
    """A weight has changed without a sign that PyTorch reports; the product would have used the old one."""


@lru_cache(maxsize=1)
def _watch_optimizers() -> None:
    """Forgets what is kept after each step of an optimizer: fused ones change weights without counting versions."""

    def forget(*_: object) -> None:
        _cache.clear()

    register_optimizer_step_post_hook(forget)


def shuffled_copy(weight: Tensor) -> Shuffled:
    """A weight in the kernels' order: shuffled once, and again after each change that is told of (see the module).

    Raises:
        StaleError: With `HIPWARD_CHECK_SHUFFLED=1`, where it has changed otherwise.
    """
    if weight.is_inference():
        # It counts no versions, so nothing can be kept of it.
        return Shuffled.of(weight)
    _watch_optimizers()
    key = (*_place(weight), weight._version)  # noqa: SLF001 - counts changes in place
    found = _cache.get(key)
    if found is not None and not found[0].expired():
        if switches.on("HIPWARD_CHECK_SHUFFLED") and not _same_bits(Shuffled.of(weight).data, found[1].data):
            raise StaleError(
                f"the weight {list(weight.shape)} {weight.dtype} was changed past PyTorch, as .data.copy_() does, so "
                "its shuffled copy is stale; call hipward_kernels.linear.preshuffle.refresh(weight) after such a change"
            )
        return found[1]
    refresh(weight)
    shuffled = Shuffled.of(weight)
    _cache[key] = _reference(weight.untyped_storage()), shuffled
    return shuffled


def refresh(weight: Tensor | None = None) -> None:
    """Has a weight, or all of them, shuffled anew at the next product: for writes that PyTorch does not see."""
    place = None if weight is None else _place(weight)
    for other, (memory, _) in list(_cache.items()):
        if place is None or memory.expired() or other[:-1] == place:
            del _cache[other]


def _place(weight: Tensor) -> tuple[Any, ...]:
    return weight.data_ptr(), weight.shape, weight.stride(), weight.dtype, weight.device


def _same_bits(a: Tensor, b: Tensor) -> bool:
    width = torch.int16 if a.itemsize == 2 else torch.int8
    return torch.equal(a.view(width), b.view(width))


def rows_wanted() -> int | None:
    """From how many rows on this route is wanted: `PRESHUFFLE_M_THRESH`; None where it is off, not set or below 0."""
    limit = switches.number("PRESHUFFLE_M_THRESH")
    return None if limit is None or limit < 0 else limit


def refusal(x: Tensor, weight: Tensor, bias: Tensor | None) -> str | None:
    """Why this route cannot run, or None when it can."""
    if weight.is_inference():
        return "the weight was made in inference mode, so its changes are not counted; make it outside"
    return refuses(weight) or amd.refusal(x, weight, bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """See `hipward_kernels.linear`."""
    return shuffled_copy(weight).product(x, bias)
