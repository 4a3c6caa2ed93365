"""Softmax of the last dimension, in one pass over memory for rows that fit into registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "softmax", ("hip", "triton", "eager"))


def softmax(x: Tensor) -> Tensor:
    """Exponentials of the last dimension of `x`, divided by their sum.

    `y = exp(x - max(x)) / sum(exp(x - max(x)))`, the definition of `torch.softmax(x, -1)`. Computed in float32
    (float64 for float64 inputs) and rounded once, at the end. A row of only `-inf`, or with NaN or `inf`, is NaN, as in
    PyTorch.

    Args:
        x: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.

    Returns:
        A contiguous tensor with the shape and dtype of `x`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import softmax
        >>> softmax(torch.randn(8, 4096)).shape
        torch.Size([8, 4096])
    """
    floating("softmax", "x", x)
    if not x.shape:
        raise ValueError("softmax: x is a scalar; a last dimension is needed")
    y: Tensor = OP(x)
    return y
