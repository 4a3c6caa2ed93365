"""The QKV split with RoPE as a differentiable function: the backward rotates gradients back and joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.ops.rope.layout import Layout


def function(
    run: Callable[..., tuple[Tensor, Tensor, Tensor]],
    join: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Layout], Tensor],
) -> Callable[..., Any]:
    """`qkv_rope(qkv, cos, sin, heads, kv_heads, layout)` with a gradient of `qkv`.

    Args:
        run: Computes the forward.
        join: Computes the gradient of the joined tensor from those of queries, keys and values, and the tables.
    """

    class QKVRoPE(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout
        ) -> tuple[Tensor, Tensor, Tensor]:
            ctx.save_for_backward(cos, sin)
            ctx.layout = layout
            return run(qkv, cos, sin, heads, kv_heads, layout)

        @staticmethod
        def backward(ctx: Any, dq: Tensor, dk: Tensor, dv: Tensor) -> tuple[Tensor, None, None, None, None, None]:
            refuse_second_derivative("qkv_rope")
            cos, sin = ctx.saved_tensors
            return join(dq, dk, dv, cos, sin, ctx.layout), None, None, None, None, None

    return QKVRoPE.apply  # type: ignore[no-any-return]
