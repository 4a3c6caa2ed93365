"""add+RMSNorm in HIP; the kernels are those of `hipward_kernels.ops.rmsnorm.hip`, which can add first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipward_kernels.dispatch import tuning
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.rmsnorm.hip import differentiable, forward, trained_add_rmsnorm

if TYPE_CHECKING:
    from torch import Tensor


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.add_rmsnorm`."""
    if trains(x, residual, weight):
        results = training.run("add_rmsnorm", x, residual, weight, eps, tuning.generation)
        if results is not None:
            return results
        fits = differentiable("add_rmsnorm", x, residual, weight)
        return trained_add_rmsnorm(x, residual, weight, eps) if fits else NotImplemented
    return forward("add_rmsnorm", x, residual, weight, eps)
