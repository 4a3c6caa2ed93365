"""Layer normalization (Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating, norm_weight

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "layernorm", ("hip", "triton", "eager"))
FORWARD = Op(__name__, "layernorm_with_statistics", ("hip", "triton", "eager"))
"""The op without autograd, and the mean and `1 / sqrt(variance + eps)` of each row, for the backward."""
BACKWARD = Op(__name__, "layernorm_backward", ("hip", "triton", "eager"))
"""Gradients of `x`, of the weight and of the bias, from these, `mean`, `scale` and the gradient of the result."""


def layernorm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalizes the last dimension of `x` to a mean of zero and a variance of one, then scales and shifts it.

    `y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias`, equation 4 of the paper, with mean and (biased) variance
    over the last dimension; the definition of `torch.nn.functional.layer_norm`. Computed in float32 (float64 for
    float64 inputs) and rounded once, at the end.

    Args:
        x: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.
        weight: Shape `[N]`, any floating dtype; None means ones.
        bias: Shape `[N]`, any floating dtype; None means zeros.
        eps: Added to the variance, in the square of `x`'s unit.

    Returns:
        A contiguous tensor with the shape and dtype of `x`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import layernorm
        >>> x, weight, bias = torch.randn(8, 4096), torch.ones(4096), torch.zeros(4096)
        >>> layernorm(x, weight, bias).shape
        torch.Size([8, 4096])
    """
    floating("layernorm", "x", x)
    norm_weight("layernorm", x, weight)
    norm_weight("layernorm", x, bias, "bias")
    y: Tensor = OP(x, weight, bias, float(eps))
    return y
