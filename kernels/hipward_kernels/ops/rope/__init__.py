"""Rotary position embeddings (Su et al. 2021, https://arxiv.org/abs/2104.09864), in both layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating
from hipward_kernels.ops.rope.layout import LAYOUTS, Layout, convert_weight, rope_table

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LAYOUTS", "OP", "Layout", "check_table", "convert_weight", "rope", "rope_table"]

OP = Op(__name__, "rope", ("hip", "triton", "eager"))
BACKWARD = Op(__name__, "rope_backward", ("hip", "triton", "eager"))
"""The gradient of `x`, from the gradient of the result, the tables and the layout."""


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout = "half") -> Tensor:
    """Rotates pairs of features of each head by the angle of its position.

    `(a, b) -> (a * cos - b * sin, b * cos + a * sin)`, equation 34 of the paper. `layout` defines which two features
    are a pair. Features beyond those of the table are copied. Computed in float32 (float64 for float64 inputs) and
    rounded once, at the end.

    Args:
        x: Queries or keys, shape `[B, S, H, D]`; float16, bfloat16, float32 or float64, any strides: pass a
            transposed view of `[B, H, S, D]` as it is.
        cos: Cosines, shape `[S, P]` or `[B, S, P]` with `P` pairs, `2 * P <= D`; any floating dtype.
            `rope_table` computes them; pass the rows of the positions.
        sin: Sines, like `cos`.
        layout: `half` or `interleaved`.

    Returns:
        A contiguous tensor with the shape and dtype of `x`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops.rope import rope, rope_table
        >>> cos, sin = rope_table(16, 128)
        >>> queries = torch.randn(2, 16, 32, 128)
        >>> rope(queries, cos, sin).shape
        torch.Size([2, 16, 32, 128])
    """
    floating("rope", "x", x)
    if x.dim() != 4:
        raise ValueError(f"rope: x has shape {list(x.shape)}; [B, S, H, D] is needed")
    check_table("rope", x, x.shape[-1], cos, sin, layout)
    y: Tensor = OP(x, cos, sin, layout)
    return y


def check_table(op: str, x: Tensor, head_dim: int, cos: Tensor, sin: Tensor, layout: str) -> None:
    """Raises if the tables do not fit `x`, whose first two dimensions are batch and sequence."""
    if layout not in LAYOUTS:
        raise ValueError(f"{op}: the layout {layout!r} is none of {', '.join(LAYOUTS)}")
    floating(op, "cos", cos)
    floating(op, "sin", sin)
    batch, length = x.shape[:2]
    fits = cos.dim() >= 2 and tuple(cos.shape[:-1]) in ((length,), (batch, length))
    if cos.shape != sin.shape or not fits or 2 * cos.shape[-1] > head_dim:
        raise ValueError(
            f"{op}: cos has shape {list(cos.shape)}, sin {list(sin.shape)}; both must be [{length}, P] or "
            f"[{batch}, {length}, P] with 2 * P <= {head_dim}"
        )
    if cos.device != x.device or sin.device != x.device:
        raise ValueError(f"{op}: cos is on {cos.device}, sin on {sin.device}, x on {x.device}")
    if cos.requires_grad or sin.requires_grad:
        raise ValueError(f"{op}: cos or sin requires a gradient; the tables are constants here, so detach them")
