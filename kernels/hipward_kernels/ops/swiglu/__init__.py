"""SiLU×mul of the joined output of a gate and up projection (Shazeer 2020, https://arxiv.org/abs/2002.05202).

With `silu_mul`, the two halves are views, and autograd concatenates their gradients in an additional pass over memory.
Here the gradient is one tensor from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "swiglu", ("hip", "triton", "eager"))
BACKWARD = Op(__name__, "swiglu_backward", ("hip", "triton", "eager"))
"""The gradient of `gate_up`, from it and the gradient of the result."""


def swiglu(gate_up: Tensor) -> Tensor:
    """Multiplies `silu` of the first half of each row by the second half.

    `y = gate * sigmoid(gate) * up`, the bracket of the paper's equation 6 (SwiGLU). Computed in float32
    (float64 for float64 inputs) and rounded once, at the end.

    Args:
        gate_up: Shape `[..., 2 * N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.

    Returns:
        A contiguous tensor of shape `[..., N]` and the same dtype.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import swiglu
        >>> swiglu(torch.randn(8, 22016)).shape
        torch.Size([8, 11008])
    """
    floating("swiglu", "gate_up", gate_up)
    if gate_up.dim() == 0 or gate_up.shape[-1] % 2:
        raise ValueError(f"swiglu: gate_up has shape {list(gate_up.shape)}; [..., 2 * N] is needed")
    y: Tensor = OP(gate_up)
    return y
