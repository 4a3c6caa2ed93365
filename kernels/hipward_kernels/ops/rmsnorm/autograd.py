"""RMSNorm and add+RMSNorm as differentiable functions, from the kernels of any tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


class Forward(Protocol):
    """A tier's forward kernel."""

    def __call__(
        self, op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor]:
        """RMSNorm of `x`, or of `x + residual`; and the normalized input."""


class Backward(Protocol):
    """A tier's backward kernels."""

    def __call__(
        self, dy: Tensor, dtotal: Tensor | None, x: Tensor, weight: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor | None]:
        """Gradients of the normalized input `x` and of the weight; `dtotal` is added to the first."""


def functions(run: Forward, differentiate: Backward) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`rmsnorm(x, weight, eps)` and `add_rmsnorm(x, residual, weight, eps)` with a gradient."""

    class RMSNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
            ctx.save_for_backward(x, weight)
            ctx.eps = eps
            return run("rmsnorm", x, None, weight, eps)[0]

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor | None, None]:
            refuse_second_derivative("rmsnorm")
            x, weight = ctx.saved_tensors
            return (*differentiate(dy, None, x, weight, ctx.eps), None)

    class AddRMSNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
            y, total = run("add_rmsnorm", x, residual, weight, eps)
            ctx.save_for_backward(total, weight)
            ctx.eps = eps
            return y, total

        @staticmethod
        def backward(ctx: Any, dy: Tensor, dtotal: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
            refuse_second_derivative("add_rmsnorm")
            total, weight = ctx.saved_tensors
            dx, dweight = differentiate(dy, dtotal, total, weight, ctx.eps)
            # Both summands have the gradient of the sum.
            return dx, dx, dweight, None

    return RMSNorm.apply, AddRMSNorm.apply
