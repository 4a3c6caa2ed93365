"""A gated activation as a differentiable function, from the kernels of any tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


def function(
    op: str,
    run: Callable[[Tensor, Tensor], Tensor],
    differentiate: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> Callable[..., Any]:
    """`activation(gate) * up` with a gradient.

    Args:
        op: Name of the op, for messages.
        run: Computes the forward from `gate` and `up`.
        differentiate: Computes the gradients of `gate` and `up` from the gradient of the result, `gate` and `up`.
    """

    class Gated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
            ctx.save_for_backward(gate, up)
            return run(gate, up)

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
            refuse_second_derivative(op)
            return differentiate(dy, *ctx.saved_tensors)

    return Gated.apply  # type: ignore[no-any-return]
