"""Splits the output of a fused QKV projection and applies RoPE to queries and keys, in one pass over memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating
from hipward_kernels.ops.rope import check_table

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

OP = Op(__name__, "qkv_rope", ("hip", "triton", "eager"))
BACKWARD = Op(__name__, "qkv_rope_backward", ("hip", "triton", "eager"))
"""The gradient of the joined tensor, from those of queries, keys and values, the tables and the layout."""


def qkv_rope(
    qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout = "half"
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits `qkv` into heads of queries, keys and values, and applies `rope` to queries and keys.

    Args:
        qkv: Shape `[B, S, (heads + 2 * kv_heads) * D]`: all heads of queries, then of keys, then of values;
            float16, bfloat16, float32 or float64. Rows need not be contiguous.
        cos: Cosines, shape `[S, P]` or `[B, S, P]`; see `hipward_kernels.ops.rope`.
        sin: Sines, like `cos`.
        heads: Heads of the queries.
        kv_heads: Heads of keys and of values; `heads` is a multiple of it (grouped-query attention).
        layout: `half` or `interleaved`.

    Returns:
        Queries `[B, S, heads, D]`, keys and values `[B, S, kv_heads, D]`: contiguous, in the dtype of `qkv`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import qkv_rope
        >>> from hipward_kernels.ops.rope import rope_table
        >>> cos, sin = rope_table(16, 128)
        >>> qkv = torch.randn(2, 16, (32 + 2 * 8) * 128)
        >>> query, key, value = qkv_rope(qkv, cos, sin, heads=32, kv_heads=8)
        >>> query.shape, key.shape
        (torch.Size([2, 16, 32, 128]), torch.Size([2, 16, 8, 128]))
    """
    floating("qkv_rope", "qkv", qkv)
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise ValueError(f"qkv_rope: {heads} query heads are not a multiple of {kv_heads} key and value heads")
    parts = heads + 2 * kv_heads
    if qkv.dim() != 3 or qkv.shape[-1] % parts:
        raise ValueError(f"qkv_rope: qkv has shape {list(qkv.shape)}; [B, S, {parts} * D] is needed")
    check_table("qkv_rope", qkv, qkv.shape[-1] // parts, cos, sin, layout)
    return OP(qkv, cos, sin, heads, kv_heads, layout)  # type: ignore[no-any-return]
