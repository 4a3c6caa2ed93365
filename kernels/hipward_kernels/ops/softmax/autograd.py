"""Softmax as a differentiable function, from the kernels of any tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


def function(run: Callable[[Tensor], Tensor], differentiate: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """`softmax(x)` with a gradient.

    Args:
        run: Computes the forward.
        differentiate: Computes the gradient of `x` from the gradient of the result and the result.
    """

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = run(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> Tensor:
            refuse_second_derivative("softmax")
            (y,) = ctx.saved_tensors
            return differentiate(dy, y)

    return Softmax.apply  # type: ignore[no-any-return]
