"""An attention call with checked arguments, and the type of functions that run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from hipward_kernels.ops.checks import tensors

Attend: TypeAlias = Callable[[Tensor, Tensor, Tensor, "Tensor | None"], Tensor]
"""Runs calls of one form, which differ only in contents and strides of query, key, value and mask."""


@dataclass(frozen=True)
class Call:
    """See `hipward_kernels.attention.attention` for the fields."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    causal: bool
    scale: float
    dropout: float

    def __post_init__(self) -> None:
        q, k, v = self.query, self.key, self.value
        tensors("attention", query=q, key=k, value=v, mask=self.mask)
        if not q.dim() == k.dim() == v.dim() == 4:
            raise ValueError(f"attention: {self._shapes()}; [B, S, H, D] is needed")
        if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
            raise ValueError(f"attention: {self._shapes()}; they must share B, key and value S and H, query and key D")
        if k.shape[2] == 0 or q.shape[2] % k.shape[2]:
            raise ValueError(f"attention: {self._shapes()}; heads of the query must be a multiple of the key's")
        if not q.dtype == k.dtype == v.dtype or not q.is_floating_point():
            raise TypeError(f"attention: dtypes are {q.dtype}, {k.dtype} and {v.dtype}; one floating dtype is needed")
        if not q.device == k.device == v.device:
            raise ValueError(f"attention: devices are {q.device}, {k.device} and {v.device}; one is needed")
        if self.causal and q.shape[1] > k.shape[1]:
            raise ValueError(
                f"attention: {self._shapes()}; a causal mask that ends at the last key lets the first "
                f"{q.shape[1] - k.shape[1]} queries see nothing"
            )
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"attention: dropout is {self.dropout}; a probability below 1 is needed")
        self._check_mask()

    def _shapes(self) -> str:
        return f"query is {list(self.query.shape)}, key {list(self.key.shape)}, value {list(self.value.shape)}"

    def _check_mask(self) -> None:
        if self.mask is None:
            return
        if self.mask.dtype != torch.bool and not self.mask.is_floating_point():
            raise TypeError(f"attention: the mask has dtype {self.mask.dtype}; bool or a floating dtype is needed")
        if self.mask.device != self.query.device:
            raise ValueError(f"attention: the mask is on {self.mask.device}, the query on {self.query.device}")
        full = (self.query.shape[0], self.query.shape[2], self.query.shape[1], self.key.shape[1])
        wrong = self.mask.dim() not in (2, 3, 4) or any(
            size not in (1, wanted) for size, wanted in zip(reversed(self.mask.shape), reversed(full), strict=False)
        )
        if wrong:
            raise ValueError(
                f"attention: the mask has shape {list(self.mask.shape)}; it must broadcast to {list(full)}, "
                "[B, H, queries, keys]"
            )
