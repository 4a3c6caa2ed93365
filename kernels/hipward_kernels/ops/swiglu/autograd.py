"""SwiGLU's activation as a differentiable function, from the kernels of any tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


def function(run: Callable[[Tensor], Tensor], differentiate: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """`swiglu(gate_up)` with a gradient.

    Args:
        run: Computes the forward.
        differentiate: Computes the gradient of `gate_up` from the gradient of the result and `gate_up`.
    """

    class SwiGLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, gate_up: Tensor) -> Tensor:
            ctx.save_for_backward(gate_up)
            return run(gate_up)

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> Tensor:
            refuse_second_derivative("swiglu")
            (gate_up,) = ctx.saved_tensors
            return differentiate(dy, gate_up)

    return SwiGLU.apply  # type: ignore[no-any-return]
