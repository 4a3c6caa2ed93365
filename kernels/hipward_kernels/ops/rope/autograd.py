"""RoPE as a differentiable function: the backward applies the inverse rotation to the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.ops.rope.layout import Layout


def function(
    run: Callable[[Tensor, Tensor, Tensor, Layout], Tensor],
    run_back: Callable[[Tensor, Tensor, Tensor, Layout], Tensor],
) -> Callable[..., Any]:
    """`rope(x, cos, sin, layout)` with a gradient of `x`; `run_back` applies the inverse rotation."""

    class RoPE(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
            ctx.save_for_backward(cos, sin)
            ctx.layout = layout
            return run(x, cos, sin, layout)

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None, None]:
            refuse_second_derivative("rope")
            cos, sin = ctx.saved_tensors
            return run_back(dy, cos, sin, ctx.layout), None, None, None

    return RoPE.apply  # type: ignore[no-any-return]
