"""add+RMSNorm in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.ops.rmsnorm.eager import rmsnorm

if TYPE_CHECKING:
    from torch import Tensor


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.ops.add_rmsnorm`."""
    total = (x + residual).contiguous()
    return rmsnorm(total, weight, eps), total
