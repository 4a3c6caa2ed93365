"""Weights in the order that AMD's assembly kernels read them, and a guard against mistaking one order for the other.

The kernels read a tile of 16 rows by 32 columns (of 16-bit numbers) at a time, and in it 16 bytes of each row after the
other. A weight in that order has the shape of a plain one, so nothing stops it from being multiplied as one: aiter
marks it with an attribute of the tensor, which `.to()`, copies, state dicts and custom ops lose. Here the mark is a
type: `Shuffled` is no tensor, and only `product` takes it apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels import switches
from hipward_kernels.linear import aiter as amd
from hipward_kernels.linear import refusal
from hipward_kernels.linear.arguments import check

if TYPE_CHECKING:
    import torch

TILE_ROWS = 16
CHUNK_BYTES = 16
CHUNKS = 4
"""Chunks of a row in a tile: a tile is 64 bytes wide."""


def tile_columns(itemsize: int) -> int:
    """Columns of a tile: 32 of 16 bits, 64 of 8."""
    return CHUNKS * CHUNK_BYTES // itemsize


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
        n, k = weight.shape
        chunk = CHUNK_BYTES // weight.dtype.itemsize
        tiles = weight.detach().view(n // TILE_ROWS, TILE_ROWS, k // (CHUNKS * chunk), CHUNKS, chunk)
        return cls(tiles.permute(0, 2, 3, 1, 4).contiguous().view(n, k))

    def plain(self) -> Tensor:
        """The weight in its usual order; a copy."""
        n, k = self.data.shape
        chunk = CHUNK_BYTES // self.data.dtype.itemsize
        tiles = self.data.view(n // TILE_ROWS, k // (CHUNKS * chunk), CHUNKS, TILE_ROWS, chunk)
        return tiles.permute(0, 3, 1, 2, 4).contiguous().view(n, k)

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """`x @ weight.T + bias` by aiter's assembly kernels; 16 bits."""
        return amd.linear(x, self.data, bias, shuffled=True)


class PreshuffledLinear(nn.Module):
    """A linear layer that has its weight in both orders, and takes the shuffled one from some number of rows on.

    The plain weight is the parameter: it is what is trained, saved, loaded and moved. The shuffled one is derived from
    it anew whenever it has changed, was moved or has another dtype, so it can neither be lost nor be stale.
    """

    def __init__(self, layer: nn.Linear, rows: int) -> None:
        """`rows`: from how many on the shuffled weight is faster; `PRESHUFFLE_M_THRESH` overrides it."""
        super().__init__()
        if reason := refuses(layer.weight):
            raise ValueError(f"cannot shuffle: {reason}")
        self.weight, self.bias = layer.weight, layer.bias
        self.rows = rows
        self._shuffled: tuple[tuple[int, int, torch.dtype, torch.device], Shuffled] | None = None

    def shuffled(self) -> Shuffled:
        """The weight in the kernels' order, as it is now."""
        weight = self.weight
        version = 0 if weight.is_inference() else weight._version  # noqa: SLF001 - counts changes in place
        key = (weight.data_ptr(), version, weight.dtype, weight.device)
        if self._shuffled is None or self._shuffled[0] != key:
            self._shuffled = key, Shuffled.of(weight)
        return self._shuffled[1]

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to `[..., N]`."""
        check(x, self.weight, self.bias)
        limit = switches.number("PRESHUFFLE_M_THRESH")
        rows = self.rows if limit is None else limit
        if x.numel() // max(x.shape[-1], 1) >= rows and refusal("aiter", x, self.weight, self.bias) is None:
            return self.shuffled().product(x, self.bias)
        return F.linear(x, self.weight, self.bias)
