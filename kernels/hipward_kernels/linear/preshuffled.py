"""A linear layer that uses a preshuffled weight from some number of rows on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.dispatch.cache import DispatchCache
from hipward_kernels.linear import preshuffle, refusal
from hipward_kernels.linear.arguments import check, form

if TYPE_CHECKING:
    from hipward_kernels.linear.arguments import Product
    from hipward_kernels.linear.preshuffle import Shuffled

_cache: DispatchCache[Product] = DispatchCache()


class PreshuffledLinear(nn.Module):
    """Replaces an `nn.Linear`, whose weight and bias it shares."""

    def __init__(self, layer: nn.Linear, rows: int) -> None:
        """`rows` is the smallest number of rows for the shuffled weight; `PRESHUFFLE_M_THRESH` overrides it."""
        super().__init__()
        if reason := preshuffle.refuses(layer.weight):
            raise ValueError(f"cannot shuffle: {reason}")
        self.weight, self.bias = layer.weight, layer.bias
        self.rows = rows

    def shuffled(self) -> Shuffled:
        """The weight in the kernels' order; see `preshuffle.shuffled_copy`."""
        return preshuffle.shuffled_copy(self.weight)

    def refresh(self) -> None:
        """Call this after a write that PyTorch does not report, such as `.data.copy_()`; see `preshuffle`."""
        preshuffle.refresh(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to `[..., N]`."""
        weight, bias = self.weight, self.bias
        if torch.compiler.is_compiling():
            return self._route(x, weight, bias)(x, weight, bias)
        key = (self.rows, form(x, weight, bias))
        product = _cache.lookup(key) or _cache.store(key, self._route(x, weight, bias))
        return product(x, weight, bias)

    def _route(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Product:
        check(x, weight, bias)
        limit = preshuffle.rows_wanted()
        rows = x.numel() // max(x.shape[-1], 1)
        wanted = rows >= (self.rows if limit is None else limit)
        return preshuffle.linear if wanted and refusal("preshuffled", x, weight, bias) is None else F.linear
