"""Caches of keys and values for decoding.

Two kinds: growing tensors, as in most models, and buffers of fixed size, whose addresses and shapes do not change, as
captured graphs require.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.models.config import Config


class LayerCache(Protocol):
    """Keys and values of one layer."""

    visible: Tensor | None
    """`[T]`, bool: the filled positions of the buffers, including the next token. None for growing tensors."""

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds keys and values of new tokens, `[B, S, K, D]`; returns those that the new tokens attend to."""


class Cache(Protocol):
    """Keys and values of all layers."""

    @property
    def layers(self) -> Sequence[LayerCache]:
        """The cache of each layer."""

    def next_row(self, table: Tensor) -> Tensor:
        """The row of a table of positions, `[P, …]`, for the next token: `[1, …]`."""

    def advance(self, tokens: int) -> None:
        """Advances the position by `tokens`, after all layers were extended."""


class GrowingLayer:
    """Tensors that are copied into longer ones for each token."""

    visible: Tensor | None = None

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """See `LayerCache`."""
        self.k = k if self.k is None else torch.cat((self.k, k), dim=1)
        self.v = v if self.v is None else torch.cat((self.v, v), dim=1)
        return self.k, self.v


class GrowingCache:
    """See the module."""

    def __init__(self, config: Config) -> None:
        self.layers: Sequence[GrowingLayer] = [GrowingLayer() for _ in range(config.num_layers)]
        self._length = 0

    def next_row(self, table: Tensor) -> Tensor:
        """See `Cache`."""
        return table[self._length : self._length + 1]

    def advance(self, tokens: int) -> None:
        """See `Cache`."""
        self._length += tokens


class StaticLayer:
    """Buffers `[B, T, K, D]`, written in place."""

    visible: Tensor | None

    def __init__(self, k: Tensor, v: Tensor, position: Tensor, visible: Tensor) -> None:
        self.k = k
        self.v = v
        self.visible = visible
        self._position = position

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """See `LayerCache`. Several tokens at once are supported only at the beginning."""
        if k.shape[1] > 1:
            self.k[:, : k.shape[1]] = k
            self.v[:, : v.shape[1]] = v
            return k, v
        self.k.index_copy_(1, self._position, k)
        self.v.index_copy_(1, self._position, v)
        return self.k, self.v


class StaticCache:
    """See the module. The position is a tensor on the device, so that a graph can increment it."""

    def __init__(self, config: Config, batch: int, length: int, dtype: torch.dtype, device: torch.device) -> None:
        """`length` is the largest number of tokens; the buffers have `2 * layers * B * T * K * D` elements in total."""
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        """`[1]`: position of the next token."""
        self._numbers = torch.arange(length, device=device)
        self._visible = self._numbers <= self.position
        like: dict[str, Any] = {"dtype": dtype, "device": device}
        shape = (batch, length, config.num_kv_heads, config.head_dim)
        self.layers: Sequence[StaticLayer] = [
            StaticLayer(torch.zeros(shape, **like), torch.zeros(shape, **like), self.position, self._visible)
            for _ in range(config.num_layers)
        ]

    def next_row(self, table: Tensor) -> Tensor:
        """See `Cache`."""
        return table[self.position]

    def advance(self, tokens: int) -> None:
        """See `Cache`."""
        self.position += tokens
        torch.le(self._numbers, self.position, out=self._visible)

    def clear(self) -> None:
        """Removes all tokens; the addresses of the buffers do not change."""
        self.position.zero_()
        self.advance(0)
