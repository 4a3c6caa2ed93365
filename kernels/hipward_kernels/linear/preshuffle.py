"""The route through AMD's assembly kernels, which read weights in an order of their own, and a guard for that order.

The kernels read a tile of 16 rows by 32 columns (of 16-bit numbers) at a time, and in it 16 bytes of each row after the
other. A weight in that order has the shape of a plain one, so nothing stops it from being multiplied as one: aiter
marks it with an attribute of the tensor, which `.to()`, copies, state dicts and custom ops lose. Here the mark is a
type: `Shuffled` is no tensor, and only `product` takes it apart.

The plain weight stays the parameter: it is what is trained, saved, loaded and moved. The shuffled one is made from it
anew whenever it has changed, so it can neither be lost nor be stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from hipward_kernels import switches
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


_kept: dict[tuple[Any, ...], tuple[Any, Shuffled]] = {}
"""By what makes a weight what it is, with a reference to its memory that does not keep it: what comes to lie there
later is another weight."""

_reference: Any = StorageWeakRef


def kept(weight: Tensor) -> Shuffled:
    """A weight in the kernels' order, as it is now: shuffled once, and again after each change."""
    place = (weight.data_ptr(), weight.shape, weight.stride(), weight.dtype, weight.device)
    # An inference tensor counts no versions.
    version = 0 if weight.is_inference() else weight._version  # noqa: SLF001 - counts changes in place
    key = (*place, version)
    found = _kept.get(key)
    if found is not None and not found[0].expired():
        return found[1]
    for other, (memory, _) in list(_kept.items()):
        if memory.expired() or other[:-1] == place:
            del _kept[other]
    shuffled = Shuffled.of(weight)
    _kept[key] = _reference(weight.untyped_storage()), shuffled
    return shuffled


def rows_wanted() -> int | None:
    """From how many rows on this route is wanted: `PRESHUFFLE_M_THRESH`; None where it is off, not set or below 0."""
    limit = switches.number("PRESHUFFLE_M_THRESH")
    return None if limit is None or limit < 0 else limit


def refusal(x: Tensor, weight: Tensor, bias: Tensor | None) -> str | None:
    """Why this route cannot run, or None when it can."""
    return refuses(weight) or amd.refusal(x, weight, bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """See `hipward_kernels.linear`."""
    return kept(weight).product(x, bias)
