"""The fused ops as modules that replace those of a model.

`RMSNorm` replaces a normalization layer, `SiLUMul` an activation, and `GatedMLP` a feed-forward layer with separate
projections. Modules that join projections into one matrix product are in `hipward_kernels.projections`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hipward_kernels.ops import rmsnorm, silu_mul


class RMSNorm(nn.Module):
    """Root mean square normalization of the last dimension; see `hipward_kernels.ops.rmsnorm`."""

    def __init__(self, weight: nn.Parameter | None, eps: float | None, offset: float = 0.0) -> None:
        """Initializes the module.

        Args:
            weight: Scale; None means ones.
            eps: Added to the mean square. None is the machine epsilon of the dtype of the computation, as in
                `torch.nn.RMSNorm`, whose documentation names the input's dtype, but whose kernels use that of float32
                for 16-bit inputs.
            offset: Added to the weight; 1 for models such as Gemma that store the weight minus one.
        """
        super().__init__()
        self.weight = weight
        self.eps = eps
        self.offset = offset

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., N]` to a tensor of the same shape and dtype."""
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        weight = self.weight + self.offset if self.weight is not None and self.offset else self.weight
        return rmsnorm(x, weight, torch.finfo(wide).eps if self.eps is None else self.eps)


class SiLUMul(nn.Module):
    """SiLU of the gate times the other factor; see `hipward_kernels.ops.silu_mul`."""

    def forward(self, gate: Tensor, up: Tensor | None = None) -> Tensor:
        """Takes two tensors of one shape, or one tensor whose last dimension has the gate, then the other factor."""
        if up is None:
            gate, up = gate.chunk(2, dim=-1)
        return silu_mul(gate, up)


class GatedMLP(nn.Module):
    """`down(silu(gate(x)) * up(x))`, the SwiGLU feed-forward layer, with SiLU×mul as one kernel."""

    def __init__(self, gate: nn.Linear, up: nn.Linear, down: nn.Linear | None) -> None:
        super().__init__()
        self.gate_proj = gate
        self.up_proj = up
        self.down_proj = down

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]`; the result ends in the outputs of `down`, or of `gate` without it."""
        hidden = silu_mul(self.gate_proj(x), self.up_proj(x))
        return hidden if self.down_proj is None else self.down_proj(hidden)
