"""Query, key and value projections of an attention layer as one matrix product, with grouped-query attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.ops import qkv_rope
from hipward_kernels.projections.joined import Joined

if TYPE_CHECKING:
    from torch import Tensor, nn

    from hipward_kernels.ops.rope import Layout


class FusedQKV(Joined):
    """`q(x)`, `k(x)` and `v(x)` with one matrix product of weight `[(heads + 2 * kv_heads) * D, K]`."""

    def __init__(self, query: nn.Linear, key: nn.Linear, value: nn.Linear, heads: int, kv_heads: int) -> None:
        """`heads` is the number of query heads; each of the `kv_heads` is shared by `heads / kv_heads` of them."""
        head_dim, rest = divmod(query.out_features, heads)
        if (
            rest
            or heads % kv_heads
            or key.out_features != kv_heads * head_dim
            or value.out_features != key.out_features
        ):
            raise ValueError(
                f"outputs of query, key and value are {query.out_features}, {key.out_features} and "
                f"{value.out_features}; they cannot be split into {heads} and {kv_heads} heads of one size"
            )
        super().__init__([query, key, value])
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`x` of shape `[B, S, K]` to views `[B, S, heads, D]` and twice `[B, S, kv_heads, D]`."""
        by_head = torch.unflatten(self.product(x), -1, (-1, self.head_dim))
        q, k, v = torch.split(by_head, [self.heads, self.kv_heads, self.kv_heads], dim=-2)
        return q, k, v

    def rotated(self, x: Tensor, cos: Tensor, sin: Tensor, layout: Layout = "half") -> tuple[Tensor, Tensor, Tensor]:
        """The same, contiguous, with queries and keys rotated by `hipward_kernels.ops.rope`, in one kernel."""
        return qkv_rope(self.product(x), cos, sin, self.heads, self.kv_heads, layout)
