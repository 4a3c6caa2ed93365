"""A residual addition and the RMSNorm that follows it, in one pass over memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import alike, floating, norm_weight

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "add_rmsnorm", ("hip", "triton", "eager"))


def add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Adds `residual` to `x`, and normalizes the sum's last dimension.

    `s = x + residual`, rounded to the dtype, as the two ops one after the other would; then
    `y = s / sqrt(mean(s**2) + eps) * weight` (Zhang and Sennrich 2019, equation 4), computed in float32
    (float64 for float64 inputs) and rounded once.

    Args:
        x: Shape `[..., N]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.
        residual: The same shape, dtype and device as `x`.
        weight: Shape `[N]`, any floating dtype; None means ones.
        eps: Added to the mean square, in the square of `x`'s unit.

    Returns:
        `y` and `s`, the next layer's residual: contiguous, with the shape and dtype of `x`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import add_rmsnorm
        >>> x, residual, weight = torch.randn(8, 4096), torch.randn(8, 4096), torch.ones(4096)
        >>> y, new_residual = add_rmsnorm(x, residual, weight)
        >>> torch.equal(new_residual, x + residual)
        True
    """
    floating("add_rmsnorm", "x", x)
    alike("add_rmsnorm", "x", x, "residual", residual)
    norm_weight("add_rmsnorm", x, weight)
    return OP(x, residual, weight, float(eps))  # type: ignore[no-any-return]
