"""add+RMSNorm in HIP, forward only: the kernel of `hipward_kernels.ops.rmsnorm.hip`, which can add first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.ops.rmsnorm.hip import forward

if TYPE_CHECKING:
    from torch import Tensor


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.add_rmsnorm`."""
    trains = x.requires_grad or residual.requires_grad or (weight is not None and weight.requires_grad)
    if trains and torch.is_grad_enabled():
        return NotImplemented
    return forward("add_rmsnorm", x, residual, weight, eps)
