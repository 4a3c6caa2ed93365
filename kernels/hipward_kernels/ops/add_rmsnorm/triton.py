"""add+RMSNorm in Triton; the kernels are those of `hipward_kernels.ops.rmsnorm.triton`, which can add first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.rmsnorm.triton import forward, trained_add_rmsnorm

if TYPE_CHECKING:
    from torch import Tensor


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.ops.add_rmsnorm`."""
    if trains(x, residual, weight):
        return trained_add_rmsnorm(x, residual, weight, eps)  # type: ignore[no-any-return]
    return forward("add_rmsnorm", x, residual, weight, eps)
