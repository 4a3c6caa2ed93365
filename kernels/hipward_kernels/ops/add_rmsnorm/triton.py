"""add+RMSNorm in Triton; the kernels are those of `hipward_kernels.ops.rmsnorm.triton`, which can add first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.ops.autograd import refuse_second_derivative
from hipward_kernels.ops.rmsnorm.triton import backward, forward

if TYPE_CHECKING:
    from torch import Tensor


class _AddRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
        y, total = forward(x, residual, weight, eps, "add_rmsnorm")
        ctx.save_for_backward(total, weight)
        ctx.eps = eps
        return y, total

    @staticmethod
    def backward(ctx: Any, dy: Tensor, dtotal: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        refuse_second_derivative("add_rmsnorm")
        total, weight = ctx.saved_tensors
        dx, dweight = backward(dy, dtotal, total, weight, ctx.eps)
        # The sum's gradient is that of both.
        return dx, dx, dweight, None


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.ops.add_rmsnorm`."""
    trains = x.requires_grad or residual.requires_grad or (weight is not None and weight.requires_grad)
    if trains and torch.is_grad_enabled():
        return _AddRMSNorm.apply(x, residual, weight, eps)  # type: ignore[no-any-return]
    return forward(x, residual, weight, eps, "add_rmsnorm")
