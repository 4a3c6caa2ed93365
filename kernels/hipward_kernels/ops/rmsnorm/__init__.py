"""Root mean square layer normalization (Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating, norm_weight

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "rmsnorm", ("hip", "triton", "eager"))


def rmsnorm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """Normalizes the last dimension of `x` to a root mean square of one, then scales it by `weight`.

    `y = x / sqrt(mean(x**2) + eps) * weight`, equation 4 of the paper, with the mean over the last
    dimension. Computed in float32 (float64 for float64 inputs) and rounded once, at the end.

    Args:
        x: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.
        weight: Shape `[N]`, any floating dtype; None means ones.
        eps: Added to the mean square, in the square of `x`'s unit.

    Returns:
        A contiguous tensor with the shape and dtype of `x`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import rmsnorm
        >>> x, weight = torch.randn(8, 4096), torch.ones(4096)
        >>> rmsnorm(x, weight, eps=1e-6).shape
        torch.Size([8, 4096])
    """
    floating("rmsnorm", "x", x)
    norm_weight("rmsnorm", x, weight)
    y: Tensor = OP(x, weight, float(eps))
    return y
