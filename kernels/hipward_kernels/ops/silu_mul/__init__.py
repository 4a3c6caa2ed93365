"""SiLU times a second factor: the activation of a SwiGLU feed-forward layer (Shazeer 2020, https://arxiv.org/abs/2002.05202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import alike, floating

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "silu_mul", ("hip", "triton", "eager"))


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """Multiplies `silu(gate)` by `up`, element by element.

    `y = gate * sigmoid(gate) * up`, the bracket of the paper's equation 6 (SwiGLU). Computed in float32
    (float64 for float64 inputs) and rounded once, at the end.

    Args:
        gate: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous, so
            that the halves of one matrix product can be passed as views.
        up: The same shape, dtype and device as `gate`.

    Returns:
        A contiguous tensor with the shape and dtype of `gate`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import silu_mul
        >>> gate, up = torch.randn(8, 22016).chunk(2, dim=-1)
        >>> silu_mul(gate, up).shape
        torch.Size([8, 11008])
    """
    floating("silu_mul", "gate", gate)
    alike("silu_mul", "gate", gate, "up", up)
    y: Tensor = OP(gate, up)
    return y
