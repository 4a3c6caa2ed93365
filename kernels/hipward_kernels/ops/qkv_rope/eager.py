"""QKV split + RoPE in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.ops.rope.eager import rope, rope_backward

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout


def qkv_rope(
    qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout
) -> tuple[Tensor, Tensor, Tensor]:
    """See `hipward_kernels.ops.qkv_rope`."""
    by_head = torch.unflatten(qkv, -1, (heads + 2 * kv_heads, -1))
    q, k, v = torch.split(by_head, [heads, kv_heads, kv_heads], dim=-2)
    return rope(q, cos, sin, layout), rope(k, cos, sin, layout), v.contiguous()


def qkv_rope_backward(dq: Tensor, dk: Tensor, dv: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.qkv_rope.BACKWARD`."""
    parts = (rope_backward(dq, cos, sin, layout), rope_backward(dk, cos, sin, layout), dv)
    return torch.cat(parts, dim=-2).flatten(-2)
