"""GELU (tanh form) times a second factor: the activation of a GEGLU feed-forward layer (Shazeer 2020, https://arxiv.org/abs/2002.05202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import alike, floating

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "gelu_mul", ("hip", "triton", "eager"))


def gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """Multiplies the tanh form of GELU of `gate` by `up`, element by element.

    `y = gate / 2 * (1 + tanh(sqrt(2 / pi) * (gate + 0.044715 * gate**3))) * up`: the bracket of the paper's
    equation 6 (GEGLU) with the approximation of Hendrycks and Gimpel (https://arxiv.org/abs/1606.08415),
    `torch.nn.functional.gelu(approximate="tanh")`. Computed in float32 (float64 for float64 inputs) and
    rounded once, at the end.

    Args:
        gate: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous, so
            that the halves of one matrix product can be passed as views.
        up: The same shape, dtype and device as `gate`.

    Returns:
        A contiguous tensor with the shape and dtype of `gate`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import gelu_mul
        >>> gate, up = torch.randn(8, 22016).chunk(2, dim=-1)
        >>> gelu_mul(gate, up).shape
        torch.Size([8, 11008])
    """
    floating("gelu_mul", "gate", gate)
    alike("gelu_mul", "gate", gate, "up", up)
    y: Tensor = OP(gate, up)
    return y
